/* Preloaded into a server or a daemon by a drill (LD_PRELOAD): its wall clock is ahead or behind, and its disk is slow.
 *
 * ORDERD_SHIM names a file of two 64-bit numbers: milliseconds that the wall clock is ahead (negative: behind), and
 * milliseconds that each fsync and fdatasync takes longer. They may be changed while the process runs.
 *
 * What waits until a moment of the wall clock would wait wrongly, since only reading the clock is changed: orderd and
 * Redis do not do that (they wait by the monotonic clock or for so long), MySQL does. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t none[2];
static const volatile int64_t *told = none;

__attribute__((constructor)) static void begin(void)
{
    const char *name = getenv("ORDERD_SHIM");
    int fd = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    void *page = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof none, PROT_READ, MAP_SHARED, fd, 0);

    if (fd >= 0)
        close(fd);
    if (page != MAP_FAILED)
        told = page;
}

static bool is_wall(clockid_t clock)
{
    return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
    int result = (int)syscall(SYS_clock_gettime, clock, ts);
    int64_t ns;

    if (result != 0 || !is_wall(clock) || told[0] == 0)
        return result;
    ns = ts->tv_nsec + told[0] % 1000 * 1000000;
    ts->tv_sec += told[0] / 1000 + (ns < 0 ? -1 : ns / 1000000000);
    ts->tv_nsec = ns < 0 ? ns + 1000000000 : ns % 1000000000;
    return 0;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
    struct timespec ts;

    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &ts) != 0)
        return -1;
    tv->tv_sec = ts.tv_sec;
    tv->tv_usec = ts.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out)
{
    struct timespec ts = {0};

    (void)clock_gettime(CLOCK_REALTIME, &ts);
    if (out)
        *out = ts.tv_sec;
    return ts.tv_sec;
}

static void be_slow(void)
{
    struct timespec rest = {told[1] / 1000, told[1] % 1000 * 1000000};

    if (told[1] > 0)
        (void)nanosleep(&rest, NULL);
}

int fsync(int fd)
{
    be_slow();
    return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    be_slow();
    return (int)syscall(SYS_fdatasync, fd);
}

/* orderctl quiet, orderctl resume: by a signal to the process that the admin endpoint names. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "endpoint.h"
#include "orderd/clock.h"
#include "orderd/process.h"
#include "print.h"

#define ASK_MS 200

/* What /status says of it. */
struct told {
    int64_t pid, ticks, in_hand;
    char host[256];
    bool quiet, ending, resting;
};

static bool lanes_rest(const json_t *s)
{
    const json_t *w;
    size_t i;

    json_array_foreach(json_object_get(s, "workers"), i, w)
    {
        const char *role = json_string_value(json_object_get(w, "role"));
        const char *state = json_string_value(json_object_get(w, "state"));

        if (role && state && strcmp(role, "lane") == 0 && strcmp(state, "quiet") != 0)
            return false;
    }
    return true;
}

static bool ask(struct ctl *ctl, struct told *told, struct error *err)
{
    const char *instance = ctl->operand_count > 0 ? ctl->operands[0] : "", *host, *phase;
    struct strbuf body = STRBUF_INIT;
    json_t *s = endpoint_status(ctl, instance, &body, err);

    strbuf_release(&body);
    if (!s)
        return false;
    host = json_string_value(json_object_get(s, "host"));
    phase = json_string_value(json_object_get(s, "phase"));
    *told = (struct told){.pid = json_integer_value(json_object_get(s, "pid")),
                          .ticks = json_integer_value(json_object_get(s, "pid_ticks")),
                          .in_hand = json_integer_value(json_object_get(s, "in_hand")),
                          .quiet = json_is_true(json_object_get(s, "quiet")),
                          .ending = phase && strcmp(phase, "draining") == 0,
                          .resting = lanes_rest(s)};
    snprintf(told->host, sizeof told->host, "%s", host ? host : "");
    json_decref(s);
    if (told->pid > 1 || (told->pid == 1 && told->ticks > 0))
        return true;
    return error_set(err, ERROR_ADMIN_AWAY, "that orderd does not say which process it is: it is of another version");
}

/* ---- the signal ---- */

/* The number alone may be another process by now, or of another container. */
static bool is_the_one(const struct told *told, struct error *err)
{
    char here[256] = "";
    int64_t ticks;

    (void)gethostname(here, sizeof here - 1);
    if (strcmp(here, told->host) != 0)
        return error_set(err, ERROR_REFUSED,
                         "that orderd runs on %s, and a signal reaches no other machine: run it there", told->host);
    if (process_started((pid_t)told->pid, &ticks) && ticks == told->ticks)
        return true;
    return error_set(err, ERROR_REFUSED,
                     "process %" PRId64
                     " is not that orderd as seen from here (is it in a container?): run it where it runs",
                     told->pid);
}

static bool complain(struct ctl *ctl, const struct told *told, struct error *err)
{
    if (errno == EPERM)
        ctl->code = EXIT_NO_PERMISSION;
    return error_set(err, ERROR_REFUSED, "process %" PRId64 " cannot be signalled: %s%s", told->pid, strerror(errno),
                     errno == EPERM ? "; be root, or the user that orderd runs as" : "");
}

/* By a descriptor of the process where the system has those, so that nobody can take its number meanwhile. */
static bool send_signal(struct ctl *ctl, const struct told *told, int signal_, struct error *err)
{
    int fd = (int)syscall(SYS_pidfd_open, (pid_t)told->pid, 0u), problem;
    bool ok;

    if (!is_the_one(told, err)) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    ok = (fd >= 0 ? (int)syscall(SYS_pidfd_send_signal, fd, signal_, NULL, 0u) : kill((pid_t)told->pid, signal_)) == 0;
    problem = errno;
    if (fd >= 0)
        close(fd);
    errno = problem;
    return ok || complain(ctl, told, err);
}

/* ---- the wait ---- */

static bool arrived(const struct told *told, bool quiet)
{
    return told->quiet == quiet && (!quiet || (told->resting && told->in_hand == 0));
}

static bool await(struct ctl *ctl, bool quiet, int64_t ms, struct told *told, struct error *err)
{
    int64_t until = clock_mono_ms() + ms;

    for (;;) {
        if (!ask(ctl, told, err))
            return false;
        if (arrived(told, quiet) || clock_mono_ms() >= until)
            break;
        print_progress(ctl, "%" PRId64 " messages in hand", told->in_hand);
        clock_sleep_ms(ASK_MS);
    }
    print_progress_end();
    return true;
}

static void print_outcome(const struct ctl *ctl, const struct told *told, bool quiet, bool dry)
{
    bool done = arrived(told, quiet);

    if (ctl->json)
        printf("{\"pid\":%" PRId64 ",\"quiet\":%s,\"in_hand\":%" PRId64 ",\"done\":%s}\n", told->pid,
               told->quiet ? "true" : "false", told->in_hand, done ? "true" : "false");
    else if (dry)
        printf("Process %" PRId64 " would get %s.\n", told->pid, quiet ? "SIGUSR1" : "SIGCONT");
    else if (done)
        printf("Process %" PRId64 " %s.\n", told->pid,
               quiet ? "is quiet, and has nothing in hand" : "takes work again");
    else
        printf("Process %" PRId64 " has been told, and %s.\n", told->pid,
               told->quiet ? "still has something in hand"
               : quiet     ? "does not say so yet"
                           : "is still quiet");
}

static bool tell(struct ctl *ctl, bool quiet, bool dry, int64_t wait_ms, struct error *err)
{
    struct told told;

    if (!ask(ctl, &told, err))
        return false;
    if (told.ending)
        return error_set(err, ERROR_REFUSED, "process %" PRId64 " is ending: it takes nothing more anyway", told.pid);
    if (dry) {
        if (!is_the_one(&told, err))
            return false;
    } else if (!send_signal(ctl, &told, quiet ? SIGUSR1 : SIGCONT, err) || !await(ctl, quiet, wait_ms, &told, err)) {
        return false;
    }
    print_outcome(ctl, &told, quiet, dry);
    if (!dry && !arrived(&told, quiet))
        ctl->code = EXIT_PARTIAL;
    return true;
}

bool ctl_quiet(struct ctl *ctl, struct error *err)
{
    return tell(ctl, true, ctl->values[CTL_OPTION_quiet_dry_run].set, ctl->values[CTL_OPTION_quiet_wait].number, err);
}

bool ctl_resume(struct ctl *ctl, struct error *err)
{
    return tell(ctl, false, ctl->values[CTL_OPTION_resume_dry_run].set, ctl->values[CTL_OPTION_resume_wait].number,
                err);
}

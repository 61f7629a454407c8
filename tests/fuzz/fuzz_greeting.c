/* The first packet of a MySQL, or of whoever listens in its place, which is read by hand to say why TLS failed. */
#include "../../src/client/db/db_probe.c"
#include "fuzz.h"

#ifdef GREETING_MAX
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char greeting[GREETING_MAX];
    bool offers;
    int pair[2];
    size_t len;

    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
    if (size > 0)
        (void)!write(pair[1], data, size);
    close(pair[1]);
    len = read_greeting(pair[0], greeting, clock_mono_ms() + 1000);
    CHECK(len <= GREETING_MAX && len <= size);
    if (offers_tls(greeting, len, &offers))
        CHECK(greeting[0] == 10 && len > 16);
    close(pair[0]);
    return 0;
}
#else /* without OpenSSL nobody asks */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    (void)data, (void)size;
    return 0;
}
#endif

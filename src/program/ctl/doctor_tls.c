/* orderctl doctor: what is encrypted, with whom, and until when. */
#include "doctor.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "orderd/clock.h"

/* Long enough to order a certificate and to roll it out before it is too late. */
#define RENEW_DAYS 21
#define DAY_S      86400

enum doctor_verdict doctor_judge_until(int64_t until_s, int64_t now_s)
{
    if (until_s <= now_s)
        return DOCTOR_PROBLEM;
    return until_s - now_s < (int64_t)RENEW_DAYS * DAY_S ? DOCTOR_WARNING : DOCTOR_OK;
}

bool doctor_is_here(const char *host)
{
    unsigned char v4[4];
    struct in6_addr v6;

    if (inet_pton(AF_INET, host, v4) == 1)
        return v4[0] == 127;
    if (inet_pton(AF_INET6, host, &v6) == 1)
        return IN6_IS_ADDR_LOOPBACK(&v6);
    return strcmp(host, "localhost") == 0;
}

void doctor_day(int64_t at_s, char out[16])
{
    time_t at = (time_t)at_s;
    struct tm tm;

    if (!gmtime_r(&at, &tm) || strftime(out, 16, "%Y-%m-%d", &tm) == 0)
        snprintf(out, 16, "?");
}

void doctor_tell_tls(struct doctor *d, enum doctor_check check, const struct doctor_tls *tls)
{
    char day[16];

    doctor_day(tls->until_s, day);
    if (!tls->by)
        doctor_tell(d, tls->here ? DOCTOR_OK : DOCTOR_LOOK, check, tls->subject,
                    tls->here ? "plain text, within this machine"
                              : "plain text: who is on the way can read and change it, passwords included");
    else if (!tls->verified)
        doctor_tell(d, tls->here ? DOCTOR_OK : DOCTOR_LOOK, check, tls->subject,
                    "encrypted by %s, but whose server it is was not asked", tls->by);
    else if (tls->until_s)
        doctor_tell(d, doctor_judge_until(tls->until_s, clock_wall_ms() / 1000), check, tls->subject,
                    "encrypted by %s; the server's certificate is valid until %s", tls->by, day);
    else
        doctor_tell(d, DOCTOR_OK, check, tls->subject, "encrypted by %s, with a server that was verified", tls->by);
}

/* What the files of `orderctl doctor` share: findings, each of one row of tbl/doctor_check.h, and the clocks. */
#ifndef ORDERD_CTL_DOCTOR_H
#define ORDERD_CTL_DOCTOR_H

#include <sys/types.h>

#include "ctl.h"

enum doctor_check {
#define X(id, name, advice) DOCTOR_##id,
#include "orderd/tbl/doctor_check.h"
#undef X
    DOCTOR_CHECK_COUNT
};

enum doctor_verdict { DOCTOR_OK, DOCTOR_LOOK, DOCTOR_WARNING, DOCTOR_PROBLEM, DOCTOR_VERDICT_COUNT };

/* A clock read over a network: how far it is ahead of this machine's, and by how much that may be wrong. */
struct doctor_clock {
    bool known;
    int64_t ahead_ms, error_ms;
};

struct doctor {
    struct ctl *ctl;
    unsigned count[DOCTOR_VERDICT_COUNT];
    unsigned away; /* servers that could not be looked at */
    struct doctor_clock mysql, redis;
    const char *advised[DOCTOR_CHECK_COUNT]; /* the last advice that was printed about each */
    int64_t *timeouts;                       /* pay time-outs in use, where the database told; owned */
    size_t timeout_count;
    bool timeouts_known;
};

/* One line. subject: what it is about, where there are several; else NULL. What is not as it should be is followed by
 * the advice of the row: as people read it, only behind the first of several lines that have the same. */
void doctor_tell(struct doctor *d, enum doctor_verdict verdict, enum doctor_check check, const char *subject,
                 const char *fmt, ...) ORDERD_PRINTF(5, 6);

/* The same with another advice than the row's; "" for none, NULL for the row's. */
void doctor_tell_advice(struct doctor *d, enum doctor_verdict verdict, enum doctor_check check, const char *advice,
                        const char *subject, const char *fmt, ...) ORDERD_PRINTF(6, 7);

/* Pure: what to do where this one of the rows mysql.server, redis.server and broker.server failed so, for
 * doctor_tell_advice: NULL where nothing answered. */
const char *doctor_advice(enum doctor_check server, const struct error *err);

/* The Sentinels of redis.nodes, one by one, and what protects against a primary that is cut off. kv: the primary that
 * they named; NULL where it was not to be had. */
struct kv;
void doctor_sentinels(struct doctor *d, struct kv *kv);

/* The servers of mysql.hosts, one by one; nothing where there is no such list. */
void doctor_hosts(struct doctor *d);

/* Whether every slot has a server, and what becomes of the others when one is lost. */
void doctor_cluster(struct doctor *d, struct kv *kv);

/* The server of this row failed: an outage counts it as away. */
void doctor_failed(struct doctor *d, enum doctor_check server, const char *subject, const struct error *err);

/* A clock that was asked at `asked` and answered at `answered`, both by this machine's wall clock. */
struct doctor_clock doctor_clock(int64_t asked_ms, int64_t answered_ms, int64_t its_ms);

/* Pure. A second can begin a sale early or late; a minute makes every time-out wrong. What the reading may be wrong by
 * is taken off. */
enum doctor_verdict doctor_judge_clock(int64_t ahead_ms, int64_t error_ms);
void doctor_tell_clock(struct doctor *d, enum doctor_check check, const char *subject,
                       const struct doctor_clock *clock);

/* Pure: what the permission bits of a configuration file, or of a secret, give away. *why is then a sentence's end. */
enum doctor_verdict doctor_judge_mode(mode_t mode, bool secret, const char **why);

/* ---- TLS ---- */

struct doctor_tls {
    const char *subject; /* which server, where there are several; else NULL */
    const char *by;      /* what a connection is encrypted by; NULL: plain text */
    bool verified;       /* whose server it is */
    bool here;           /* it does not leave this machine */
    int64_t until_s;     /* when the server's certificate ends, seconds since 1970; 0: not known */
};

void doctor_tell_tls(struct doctor *d, enum doctor_check check, const struct doctor_tls *tls);

/* Pure: what it means that a certificate ends then; whether a host is this machine, by its name alone; a day as text.
 */
enum doctor_verdict doctor_judge_until(int64_t until_s, int64_t now_s);
bool doctor_is_here(const char *host);
void doctor_day(int64_t at_s, char out[16]);

/* Each looks at one part and tells. */
void doctor_files(struct doctor *d);
void doctor_mysql(struct doctor *d);
void doctor_redis(struct doctor *d);
void doctor_broker(struct doctor *d);

#endif

/* What the files of a change share:
 *
 *   order_change.c        the transaction: read, judge, write, again after a conflict
 *   order_change_read.c   the rows that the wishes are about
 *   order_change_write.c  what was judged, as statements and local messages */
#ifndef ORDERD_ORDER_CHANGE_PRIVATE_H
#define ORDERD_ORDER_CHANGE_PRIVATE_H

#include "orderd/arena.h"
#include "orderd/order_change.h"
#include "orderd/order_transition.h"

/* An order that stands in the table; its row is locked. */
struct subject {
    struct order order; /* reserved_at is not read */
    int64_t id;
    enum order_standing standing;  /* as the wishes so far left it */
    int64_t overdue_us;            /* for how long its time-out had been over when it was read; negative: it is not */
    bool rearm;                    /* its timer came too early */
    const struct order_change *by; /* the wish that made it paid or closed; NULL: none did */
    enum reason reason;            /* why */
};

/* A payment that some wish names, decided or not. */
struct payment {
    const char *ref;
    bool decided;
    const char *order_no;
    int64_t amount;
    enum payment_outcome outcome;

    /* Decided here; NULL where it had been before: */
    const struct order_change *by;
    const struct subject *subject;
    enum reason reason;
};

/* An activity whose orders changed. */
struct sale {
    int64_t id;
    bool rebuy, reservations;
    int64_t units, dropped; /* that go back; of these, how many there was no room for */
};

struct change_run {
    struct db *db;
    const struct order_change_options *options;
    struct order_change *changes;
    size_t count;
    int64_t read_at; /* monotonic us */
    bool cap;        /* stock did not take all units back: look before giving */

    struct arena *arena; /* of this attempt */
    struct strbuf sql;
    enum reason *verdicts;
    struct subject *subjects; /* by order_no */
    struct payment *payments; /* by ref */
    struct sale *sales;       /* by id */
    size_t subject_count, payment_count, sale_count;
    struct local_messages messages;
};

/* ---- order_change_read.c ---- */
/* Begins the transaction, locks the orders of all wishes in the order of their numbers, and reads what is known of the
 * payments they name: after the locks, so that it includes whatever was decided about these orders before. */
bool change_read(struct change_run *run, struct error *err);
struct subject *change_subject(const struct change_run *run, const char *order_no); /* NULL: no such order */
struct payment *change_payment(const struct change_run *run, const char *ref);
/* Sums what goes back for each activity, and reads how it wants that done. */
bool change_read_sales(struct change_run *run, struct error *err);
struct sale *change_sale(const struct change_run *run, int64_t activity_id);

/* ---- order_change_write.c ---- */
/* Writes what was judged and commits. */
bool change_write(struct change_run *run, struct error *err);

#endif

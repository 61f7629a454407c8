#include "orderd/order_renewal.h"

#include <stdio.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/local_message_admin.h"

#define CONFLICTS_MAX 10

static void note_message(void *arg, size_t index, const struct local_message_row *row)
{
    (void)index;
    (void)row;
    *(bool *)arg = true;
}

/* There is no row of `next`, which the last one names. */
static bool look_for_message(struct db *db, struct order_renewal *r, struct error *err)
{
    char key[LOCAL_MESSAGE_KEY_MAX + 1];
    struct local_message_ref ref;
    bool sent = false;

    snprintf(key, sizeof key, "order.create:%s", r->next);
    ref = (struct local_message_ref){.key = slice_of(key)};
    if (!local_message_find(db, &ref, 1, note_message, &sent, err))
        return false;
    r->stage = sent ? ORDER_RENEWAL_SENT : ORDER_RENEWAL_BEGUN;
    return true;
}

/* What is bought anew may have another price by then. */
static bool same_purchase(const struct order *a, const struct order *b)
{
    struct order priced = *b;

    priced.amount = a->amount;
    return order_same_content(a, &priced);
}

/* The next link. Only what we write there is followed: the number after this one. */
static bool follow(struct db *db, struct order_renewal *r, bool *found, struct error *err)
{
    struct order_record record;

    if (strcmp(r->last.replaced_by, r->next) != 0)
        return error_set(err, ERROR_REFUSED, "order %s is replaced by %s, which is not the number after it",
                         r->last.order.order_no, r->last.replaced_by);
    if (!order_record_read(db, r->next, &record, found, err))
        return false;
    if (!*found)
        return look_for_message(db, r, err);
    r->taken_by_other = !same_purchase(&r->last.order, &record.order);
    r->last = record;
    r->links++;
    return true;
}

bool order_renewal_find(struct db *db, const struct order_record *from, struct order_renewal *out, struct error *err)
{
    bool found = true;

    *out = (struct order_renewal){.last = *from};
    while (found) {
        bool more = order_no_after(out->last.order.order_no, out->next);

        if (out->last.status != ORDER_REJECTED || out->taken_by_other) {
            out->stage = ORDER_RENEWAL_DECIDED;
            return true;
        }
        if (!out->last.replaced_by[0]) {
            out->stage = more ? ORDER_RENEWAL_NONE : ORDER_RENEWAL_SPENT;
            return true;
        }
        if (!follow(db, out, &found, err))
            return false;
    }
    return true;
}

static bool run_patiently(struct db *db, const struct strbuf *sql, bool *done, struct error *err)
{
    for (int tries = 1;; tries++) {
        error_clear(err);
        if (db_run_guarded(db, (struct slice){sql->data, sql->len}, done, err))
            return true;
        if (error_class_of(err) != ERROR_CLASS_TRANSIENT || tries == CONFLICTS_MAX)
            return false;
        clock_sleep_ms(10 * tries);
    }
}

bool order_renewal_begin(struct db *db, const struct order_renewal *renewal, struct slice with, bool *begun,
                         struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    CHECK(renewal->stage == ORDER_RENEWAL_NONE);
    strbuf_addf(&sql,
                "START TRANSACTION;UPDATE orders SET replaced_by='%s' WHERE order_no='%s' AND status='rejected' AND "
                "replaced_by IS NULL;" DB_GUARD_ONE_ROW,
                order_no_checked(renewal->next), order_no_checked(renewal->last.order.order_no));
    if (with.ptr) {
        strbuf_add_char(&sql, ';');
        strbuf_add_slice(&sql, with);
    }
    strbuf_add_str(&sql, ";COMMIT");
    ok = run_patiently(db, &sql, begun, err);
    strbuf_release(&sql);
    return ok;
}

#include "order_change_private.h"

#include <stdlib.h>
#include <string.h>

#include "order_row.h"
#include "orderd/clock.h"

static struct slice text_of(const struct strbuf *sb)
{
    return (struct slice){sb->data, sb->len};
}

/* ---- orders ---- */

static bool take_subject(void *arg, const struct slice *c, unsigned count)
{
    struct change_run *run = arg;
    struct subject *s = &run->subjects[run->subject_count];
    struct order_row row;

    if (run->subject_count == run->count || count != ORDER_ROW_COLUMN_COUNT + 2 || !order_row_read(c, count, &row) ||
        !db_column_i64(c[ORDER_ROW_COLUMN_COUNT], &s->id) ||
        !db_column_i64(c[ORDER_ROW_COLUMN_COUNT + 1], &s->overdue_us))
        return false;
    s->order = row.order;
    s->standing = (enum order_standing)row.status;
    run->subject_count++;
    return true;
}

/* In one order in every transaction, so that no two can wait for each other. A pending order without an end never is
 * due. */
static bool lock_orders(struct change_run *run, struct error *err)
{
    struct strbuf *sql = &run->sql;

    run->subjects = arena_zalloc(run->arena, run->count * sizeof *run->subjects);
    strbuf_reset(sql);
    strbuf_add_str(sql, "SELECT " ORDER_ROW_COLUMNS
                        ",id,COALESCE(TIMESTAMPDIFF(MICROSECOND,expires_at,NOW(6)),-1) FROM orders FORCE "
                        "INDEX(uk_order_no) WHERE order_no IN(");
    for (size_t i = 0; i < run->count; i++) {
        strbuf_add_str(sql, i ? ",'" : "'"); /* a valid number needs no escaping */
        strbuf_add_str(sql, order_no_checked(run->changes[i].order_no));
        strbuf_add_char(sql, '\'');
    }
    strbuf_add_str(sql, ") ORDER BY order_no FOR UPDATE");
    return db_query(run->db, text_of(sql), take_subject, run, err);
}

static int by_order_no(const void *key, const void *member)
{
    return strcmp(key, ((const struct subject *)member)->order.order_no);
}

struct subject *change_subject(const struct change_run *run, const char *order_no)
{
    return bsearch(order_no, run->subjects, run->subject_count, sizeof *run->subjects, by_order_no);
}

/* ---- payments ---- */

static int compare_payments(const void *a, const void *b)
{
    return strcmp(((const struct payment *)a)->ref, ((const struct payment *)b)->ref);
}

static int by_ref(const void *key, const void *member)
{
    return strcmp(key, ((const struct payment *)member)->ref);
}

struct payment *change_payment(const struct change_run *run, const char *ref)
{
    return bsearch(ref, run->payments, run->payment_count, sizeof *run->payments, by_ref);
}

/* Each reference once. */
static void name_payments(struct change_run *run)
{
    size_t named = 0;

    run->payments = arena_zalloc(run->arena, run->count * sizeof *run->payments);
    for (size_t i = 0; i < run->count; i++) {
        if (run->changes[i].wish == ORDER_WISH_PAY)
            run->payments[named++].ref = run->changes[i].payment_ref;
    }
    qsort(run->payments, named, sizeof *run->payments, compare_payments);
    for (size_t i = 0; i < named; i++) {
        if (run->payment_count == 0 || compare_payments(&run->payments[run->payment_count - 1], &run->payments[i]) != 0)
            run->payments[run->payment_count++] = run->payments[i];
    }
}

static bool take_payment(void *arg, const struct slice *c, unsigned count)
{
    struct change_run *run = arg;
    struct payment *p;

    if (count != 4)
        return false;
    p = change_payment(run, arena_strndup(run->arena, c[0].ptr, c[0].len));
    if (!p || !db_column_i64(c[2], &p->amount) || !payment_outcome_of_name(c[3], &p->outcome))
        return false;
    p->order_no = arena_strndup(run->arena, c[1].ptr, c[1].len);
    p->decided = true;
    return true;
}

/* No lock: two transactions that decide about one payment of the same order meet at the order, and those that name it
 * for two orders meet at uk_payment_ref. */
static bool read_payments(struct change_run *run, struct error *err)
{
    struct strbuf *sql = &run->sql;

    name_payments(run);
    if (run->payment_count == 0)
        return true;
    strbuf_reset(sql);
    strbuf_add_str(sql, "SELECT payment_ref,order_no,amount,outcome FROM payment FORCE INDEX(uk_payment_ref) WHERE "
                        "payment_ref IN(");
    for (size_t i = 0; i < run->payment_count; i++) {
        strbuf_add_str(sql, i ? "," : "");
        db_add_quoted(run->db, sql, slice_of(run->payments[i].ref));
    }
    strbuf_add_char(sql, ')');
    return db_query(run->db, text_of(sql), take_payment, run, err);
}

bool change_read(struct change_run *run, struct error *err)
{
    run->read_at = clock_mono_us();
    return db_run(run->db, slice_of("BEGIN"), err) && lock_orders(run, err) && read_payments(run, err);
}

/* ---- activities ---- */

static int compare_sales(const void *a, const void *b)
{
    const struct sale *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

struct sale *change_sale(const struct change_run *run, int64_t activity_id)
{
    struct sale key = {.id = activity_id};

    return bsearch(&key, run->sales, run->sale_count, sizeof *run->sales, compare_sales);
}

static void sum_sales(struct change_run *run)
{
    size_t all = 0;

    run->sales = arena_zalloc(run->arena, run->subject_count * sizeof *run->sales);
    for (size_t i = 0; i < run->subject_count; i++) {
        const struct subject *s = &run->subjects[i];

        if (s->by)
            run->sales[all++] = (struct sale){.id = s->order.activity_id,
                                              .rebuy = true,
                                              .reservations = true,
                                              .units = s->standing == ORDER_STANDS_CLOSED ? s->order.quantity : 0};
    }
    qsort(run->sales, all, sizeof *run->sales, compare_sales);
    for (size_t i = 0; i < all; i++) {
        if (run->sale_count > 0 && run->sales[run->sale_count - 1].id == run->sales[i].id)
            run->sales[run->sale_count - 1].units += run->sales[i].units;
        else
            run->sales[run->sale_count++] = run->sales[i];
    }
}

static bool take_sale(void *arg, const struct slice *c, unsigned count)
{
    struct change_run *run = arg;
    struct sale *sale;
    int64_t id, rebuy, reservations;

    if (count != 3 || !db_column_i64(c[0], &id) || !db_column_i64(c[1], &rebuy) ||
        !db_column_i64(c[2], &reservations) || !(sale = change_sale(run, id)))
        return false;
    sale->rebuy = rebuy != 0;
    sale->reservations = reservations != 0;
    return true;
}

/* A query of its own: joined to the one above, FOR UPDATE would lock the activities as well. What is read here is
 * frozen since the approval. */
bool change_read_sales(struct change_run *run, struct error *err)
{
    struct strbuf *sql = &run->sql;

    sum_sales(run);
    if (run->sale_count == 0)
        return true;
    strbuf_reset(sql);
    strbuf_add_str(sql, "SELECT id,rebuy_after_release,reservations FROM activity WHERE id IN(");
    for (size_t i = 0; i < run->sale_count; i++) {
        strbuf_add_str(sql, i ? "," : "");
        strbuf_add_i64(sql, run->sales[i].id);
    }
    strbuf_add_char(sql, ')');
    return db_query(run->db, text_of(sql), take_sale, run, err);
}

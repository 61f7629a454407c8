/* How many dead letters there are, of what. */
#include "dead_letter_row.h"

#include <inttypes.h>

#include "orderd/check.h"

struct counting {
    dead_letter_count_fn on_count;
    void *arg;
};

#define COLUMNS_BEFORE 8 /* the numbers by state */

static bool take_count(void *arg, const struct slice *c, unsigned count)
{
    struct counting *counting = arg;
    struct dead_letter_count n = {.reason = c[2], .queue = c[3]};

    if (count != COLUMNS_BEFORE + DEAD_LETTER_STATE_COUNT || !db_column_i64(c[0], &n.from) ||
        !dead_letter_state_of_name(c[1], &n.state) || !db_column_i64(c[4], &n.activity_id) ||
        !db_column_i64(c[5], &n.letters) || !db_column_i64(c[6], &n.times) || !db_column_i64(c[7], &n.oldest_ms))
        return false;
    for (int i = 0; i < DEAD_LETTER_STATE_COUNT; i++) {
        if (!db_column_i64(c[COLUMNS_BEFORE + i], &n.in_state[i]))
            return false;
    }
    counting->on_count(counting->arg, &n);
    return true;
}

static int64_t seconds(unsigned by)
{
    return by & DEAD_LETTER_BY_MINUTE ? 60 : by & DEAD_LETTER_BY_HOUR ? 3600 : by & DEAD_LETTER_BY_DAY ? 86400 : 0;
}

/* What it is not grouped by is the same of all. The names are those of no column, so that they mean these. */
static void add_groups(struct strbuf *sql, unsigned by)
{
    int64_t span = seconds(by);

    if (span)
        strbuf_addf(sql, "TIMESTAMPDIFF(SECOND,'1970-01-01',died_at) DIV %" PRId64 "*%" PRId64 " AS g_time", span,
                    span * 1000);
    else
        strbuf_add_str(sql, "0 AS g_time");
    strbuf_add_str(sql, by & DEAD_LETTER_BY_STATE ? ",CAST(state AS CHAR) AS g_state" : ",'open' AS g_state");
    strbuf_add_str(sql, by & DEAD_LETTER_BY_REASON ? ",reason AS g_reason" : ",'' AS g_reason");
    strbuf_add_str(sql, by & DEAD_LETTER_BY_QUEUE ? ",queue AS g_queue" : ",'' AS g_queue");
    strbuf_add_str(sql, by & DEAD_LETTER_BY_ACTIVITY ? ",COALESCE(activity_id,0) AS g_activity" : ",0 AS g_activity");
}

static void add_group_by(struct strbuf *sql, unsigned by)
{
    static const struct {
        unsigned bits;
        const char *name;
    } groups[] = {{DEAD_LETTER_BY_MINUTE | DEAD_LETTER_BY_HOUR | DEAD_LETTER_BY_DAY, "g_time"},
                  {DEAD_LETTER_BY_STATE, "g_state"},
                  {DEAD_LETTER_BY_REASON, "g_reason"},
                  {DEAD_LETTER_BY_QUEUE, "g_queue"},
                  {DEAD_LETTER_BY_ACTIVITY, "g_activity"}};
    const char *comma = " GROUP BY ";

    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        if (!(by & groups[i].bits))
            continue;
        strbuf_addf(sql, "%s%s", comma, groups[i].name);
        comma = ",";
    }
}

/* Sorted outside of the grouping, where each name is a column: a server that insists on full groups would not have a
 * function of one in there. */
bool dead_letter_store_count(struct db *db, const struct dead_letter_filter *filter, unsigned by,
                             dead_letter_count_fn on_count, void *arg, struct error *err)
{
    struct counting counting = {on_count, arg};
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    CHECK(by != 0);
    strbuf_add_str(&sql, "SELECT * FROM (SELECT ");
    add_groups(&sql, by);
    strbuf_add_str(&sql, ",COUNT(*) AS letters,CAST(SUM(times) AS SIGNED) AS deaths,GREATEST(0,TIMESTAMPDIFF("
                         "MICROSECOND,MIN(died_at),UTC_TIMESTAMP(6)) DIV 1000) AS oldest");
    for (int i = 0; i < DEAD_LETTER_STATE_COUNT; i++)
        strbuf_addf(&sql, ",CAST(SUM(state='%s') AS SIGNED) AS n%d", dead_letter_state_name((enum dead_letter_state)i),
                    i);
    strbuf_add_str(&sql, " FROM dead_letter WHERE TRUE");
    dead_letter_add_filter(db, &sql, filter);
    add_group_by(&sql, by);
    strbuf_add_str(&sql, ") g ORDER BY g_time,g_state='open' DESC,g_state,letters DESC,g_reason,g_queue,g_activity");
    ok = db_query(db, (struct slice){sql.data, sql.len}, take_count, &counting, err);
    strbuf_release(&sql);
    return ok;
}

bool dead_letter_store_size(struct db *db, const struct dead_letter_filter *filter, int64_t *out, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_add_str(&sql, "SELECT COUNT(*) FROM dead_letter WHERE TRUE");
    dead_letter_add_filter(db, &sql, filter);
    ok = db_query_i64(db, (struct slice){sql.data, sql.len}, 0, out, err);
    strbuf_release(&sql);
    return ok;
}

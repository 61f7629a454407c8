/* orderctl outbox against a real database: rows planted in every state, hostile keys and bodies, and relays that take
 * rows at the same time. */
#include "testing_ctl.h"

#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orderd/exitcode.h"
#include "orderd/local_message_admin.h"

static struct error err;

/* 1 due for an hour; 2 in back-off; 3 being sent; 4 sent; 5 and 6 quarantined, 6 with all that a terminal and a program
 * may choke on; 7 left by a crash: its lease is over. */
#define HOSTILE_KEY "1B5B324A27225C255F0A00" /* ESC [ 2 J ' " \ % _ newline NUL */
#define INSERT                                                                                                         \
    "INSERT INTO local_message(id,message_key,topic,payload,headers,state,attempts,due_at,lease_owner,lease_until,"    \
    "last_error,created_at,sent_at) VALUES"

static void plant(void)
{
    testing_ctl_run_sql(INSERT
                        "(1,'order.create:1','order.create','{\"v\":1,\"list\":[1.10,{}]}',NULL,'pending',0,"
                        "NOW(6)-INTERVAL 1 HOUR,NULL,NULL,NULL,NOW(6)-INTERVAL 2 HOUR,NULL),"
                        "(2,'order.create:2','order.create','{}',NULL,'pending',5,NOW(6)+INTERVAL 1 HOUR,NULL,NULL,"
                        "'no queue',NOW(6)-INTERVAL 1 HOUR,NULL),"
                        "(3,'order.dead:3','order.dead','{}',NULL,'pending',1,NOW(6)+INTERVAL 1 HOUR,'host:1:17:ab',"
                        "NOW(6)+INTERVAL 1 HOUR,NULL,NOW(6)-INTERVAL 1 MINUTE,NULL),"
                        "(4,'stock.return:4','stock.return','{}',NULL,'sent',1,NOW(6)-INTERVAL 3 HOUR,NULL,NULL,NULL,"
                        "NOW(6)-INTERVAL 5 HOUR,NOW(6)-INTERVAL 3 HOUR)");
    testing_ctl_run_sql(
        INSERT "(5,'stock.return:5','stock.return','{}','{\"message-id\":\"x\"}','quarantined',20,"
               "NOW(6)-INTERVAL 3 MINUTE,NULL,NULL,'Redis says no',NOW(6)-INTERVAL 5 MINUTE,NULL),"
               "(6,X'" HOSTILE_KEY "',X'740A1B','a\\\\b\\nc\\0','not json','quarantined',20,NOW(6)-INTERVAL 3 DAY,NULL,"
               "NULL,'\u51ac',NOW(6)-INTERVAL 5 DAY,NULL),"
               "(7,'order.create:7','order.create',X'00FF0A1B',NULL,'pending',3,NOW(6)-INTERVAL 1 MINUTE,"
               "'dead:1:2:cd',NOW(6)-INTERVAL 1 MINUTE,NULL,NOW(6)-INTERVAL 2 MINUTE,NULL)");
}

static void setup(void)
{
    testing_ctl_setup();
    CTL("migrate", "up");
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
}

static json_t *parsed(const char *text)
{
    json_error_t where;
    json_t *json = json_loads(text, JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, &where);

    ck_assert_msg(json != NULL, "%s: %s", where.text, text);
    return json;
}

static int64_t number(json_t *json, const char *name)
{
    ck_assert_msg(json_is_integer(json_object_get(json, name)), "%s", name);
    return json_integer_value(json_object_get(json, name));
}

static const char *text(json_t *json, const char *name)
{
    return json_string_value(json_object_get(json, name));
}

/* "1 2 5": the ids of the lines; with a member, "1=retried 2=sent". */
static const char *ids(const char *member)
{
    static struct strbuf out;

    strbuf_reset(&out);
    for (const char *line = testing_ctl.out; *line; line = strchr(line, '\n') + 1) {
        json_t *json = parsed(line), *id = json_object_get(json, "id");

        strbuf_addf(&out, "%s%" JSON_INTEGER_FORMAT, out.len ? " " : "", json_integer_value(id));
        if (member)
            strbuf_addf(&out, "=%s", text(json, member));
        json_decref(json);
    }
    return out.data ? out.data : "";
}

/* All ids in a state, from the database. */
static const char *rows_in(const char *state)
{
    static char list[256];
    char sql[256];

    list[0] = '\0';
    for (int64_t id = 0;;) {
        snprintf(sql, sizeof sql, "SELECT MIN(id) FROM local_message WHERE state='%s' AND id>%" PRId64, state, id);
        id = testing_ctl_number("%s", sql);
        if (id < 0)
            return list;
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%" PRId64, list[0] ? " " : "", id);
    }
}

/* Everything in the table as one number. */
static int64_t fingerprint(void)
{
    return testing_ctl_number(
        "SELECT COALESCE(BIT_XOR(CAST(CONV(LEFT(SHA2(CONCAT_WS('|',id,message_key,topic,payload,"
        "headers,state,attempts,due_at,lease_owner,lease_until,last_error,created_at,sent_at),256),15)"
        ",16,10) AS UNSIGNED)),0) FROM local_message");
}

/* Runs a command whose standard input is this text. */
static void with_input(const char *input, const char *const *argv)
{
    int fds[2];

    ck_assert(pipe(fds) == 0);
    ck_assert_int_eq(write(fds[1], input, strlen(input)), (ssize_t)strlen(input));
    close(fds[1]);
    program_start_reading(&testing_ctl, argv, fds[0]);
    close(fds[0]);
    program_wait(&testing_ctl);
}

#define CTL_READS(input, ...)                                                                                          \
    with_input(input, (const char *const[]){"orderctl", "-c", testing_ctl_file, __VA_ARGS__, NULL})

/* ---- stats ---- */

static json_t *element(json_t *list, const char *topic, const char *state)
{
    size_t i;
    json_t *e;

    json_array_foreach(list, i, e)
    {
        if (strcmp(text(e, "topic"), topic) == 0 && strcmp(text(e, "state"), state) == 0)
            return e;
    }
    ck_abort_msg("no element %s %s", topic, state);
}

static void between(int64_t n, int64_t least, int64_t most)
{
    ck_assert_msg(n >= least && n <= most, "%" PRId64 " is not from %" PRId64 " to %" PRId64, n, least, most);
}

START_TEST(stats)
{
    json_t *json, *e;

    CTL("outbox", "stats");
    CTL_SAYS(EXIT_OK, "orderctl: the local message table is empty\n");
    ck_assert_str_eq(testing_ctl.out, "");
    CTL("outbox", "stats", "--json");
    json = parsed(testing_ctl.out);
    ck_assert_int_eq(number(json, "oldest_pending_ms"), 0);
    json_decref(json);

    plant();
    CTL("outbox", "stats", "--json");
    CTL_SAYS(EXIT_OK, "");
    json = parsed(testing_ctl.out);
    ck_assert_int_eq(number(json, "pending"), 4);
    ck_assert_int_eq(number(json, "sent"), 1);
    ck_assert_int_eq(number(json, "quarantined"), 2);
    ck_assert_int_eq(number(json, "due"), 2);
    ck_assert_int_eq(number(json, "leased"), 1);
    between(number(json, "oldest_pending_ms"), 7200000, 7260000);
    between(number(json, "overdue_ms"), 3600000, 3660000);
    ck_assert_uint_eq(json_array_size(json_object_get(json, "topics")), 5);
    e = element(json_object_get(json, "topics"), "order.create", "pending");
    ck_assert_int_eq(number(e, "rows"), 3);
    ck_assert_int_eq(number(e, "due"), 2);
    ck_assert_int_eq(number(e, "leased"), 0);
    e = element(json_object_get(json, "topics"), "t\n\x1b", "quarantined");
    between(number(e, "oldest_ms"), INT64_C(432000000), INT64_C(432060000));
    ck_assert_int_eq(number(e, "overdue_ms"), 0);
    ck_assert_uint_eq(json_array_size(json_object_get(json, "errors")), 3);
    e = element(json_object_get(json, "errors"), "stock.return", "quarantined");
    ck_assert_str_eq(text(e, "last_error"), "Redis says no");
    json_decref(json);

    CTL("outbox", "stats");
    CTL_SAYS(EXIT_OK,
             "orderctl: 2 quarantined messages wait for somebody to act; see `orderctl outbox retry --help`\n");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\nOldest pending message: 2h old; latest by 60m.\n"));
    ck_assert_ptr_null(strchr(testing_ctl.out, '\x1b'));
}
END_TEST

/* The most frequent errors come first, and no more than fit. */
START_TEST(stats_of_errors)
{
    json_t *json, *errors;

    for (int i = 0; i < 30; i++)
        testing_ctl_run_sql(
            "INSERT INTO local_message(message_key,topic,payload,state,last_error) VALUES('a%d','t','',"
            "'quarantined','error %d'),('b%d','t','','quarantined','often'),('c%d','t','','pending','p')",
            i, i, i, i);
    CTL("outbox", "stats", "--json");
    json = parsed(testing_ctl.out);
    errors = json_object_get(json, "errors");
    ck_assert_uint_eq(json_array_size(errors), LOCAL_MESSAGE_FAILURES_MAX);
    ck_assert_str_eq(text(json_array_get(errors, 0), "last_error"), "often");
    ck_assert_int_eq(number(json_array_get(errors, 0), "rows"), 30);
    json_decref(json);
}
END_TEST

/* ---- list ---- */

static const struct {
    const char *args[8], *ids;
} lists[] = {
    {{NULL}, "1 2 3 4 5 6 7"},
    {{"--state", "pending"}, "1 2 3 7"},
    {{"--state=sent"}, "4"},
    {{"--state", "quarantined"}, "5 6"},
    {{"--due"}, "1 7"},
    {{"--due", "--state", "pending"}, "1 7"},
    {{"--topic", "stock.return"}, "4 5"},
    {{"--topic", "stock.return", "--state", "sent"}, "4"},
    {{"--topic", "order"}, ""},
    {{"--topic", "t\n\x1b"}, "6"},
    {{"--topic", "\u51ac"}, ""},
    {{"--key", "order.create:"}, "1 2 7"},
    {{"--key", "order_create:"}, ""},
    {{"--key", "%"}, ""},
    {{"--key", "\x1b[2J'\"\\%_\n"}, "6"},
    {{"--key", "order.create:1 "}, ""},
    {{"--key", "!"}, ""},
    {{"--key", "\u51ac"}, ""},
    {{"--key", "\x1b[2J'\"\\%_"}, "6"},
    {{"--key", "' OR 1=1 -- "}, ""},
    {{"--since", "-90m"}, "2 3 5 7"},
    {{"--until", "-90m"}, "1 4 6"},
    {{"--since", "-3h", "--until", "-3m"}, "1 2 5"},
    {{"--since", "now"}, ""},
    {{"--until", "2026-01-01T00:00:00Z"}, ""},
    {{"--limit", "2", "-q"}, "1 2"},
    {{"--state", "pending", "--limit", "3", "-q"}, "1 2 3"},
    {{"--limit", "7"}, "1 2 3 4 5 6 7"},
    {{"--limit", "0"}, "1 2 3 4 5 6 7"},
};

START_TEST(listed)
{
    const char *argv[16] = {"orderctl", "-c", testing_ctl_file, "outbox", "list", "--json"};

    plant();
    for (size_t i = 0; i < 8 && lists[_i].args[i]; i++)
        argv[6 + i] = lists[_i].args[i];
    program_start(&testing_ctl, argv);
    program_wait(&testing_ctl);
    CTL_SAYS(EXIT_OK, "");
    ck_assert_str_eq(ids(NULL), lists[_i].ids);
}
END_TEST

static void check_listed_row(const char *line)
{
    json_t *json = parsed(line), *key = json_object_get(json, "key");

    ck_assert_uint_eq(json_string_length(key), 11);
    ck_assert_int_eq(memcmp(json_string_value(key), "\x1b[2J'\"\\%_\n", 11), 0);
    ck_assert_str_eq(text(json, "state"), "quarantined");
    ck_assert_int_eq(number(json, "attempts"), 20);
    ck_assert_int_eq(number(json, "payload_bytes"), 6);
    ck_assert_str_eq(text(json, "last_error"), "\u51ac");
    ck_assert(json_is_null(json_object_get(json, "due_in_ms")));
    ck_assert(json_is_false(json_object_get(json, "leased")));
    ck_assert_ptr_null(json_object_get(json, "payload"));
    json_decref(json);
}

START_TEST(listed_whole)
{
    json_t *json;

    CTL("outbox", "list");
    CTL_SAYS(EXIT_OK, "orderctl: there is no such message\n");
    plant();
    CTL("outbox", "list", "--limit", "6", "--json");
    CTL_SAYS(EXIT_OK, "orderctl: these are the first 6, there are more; `--limit 0` lists all\n");
    check_listed_row(strstr(testing_ctl.out, "{\"id\":6"));
    json = parsed(strstr(testing_ctl.out, "{\"id\":3"));
    ck_assert(json_is_true(json_object_get(json, "leased")));
    ck_assert_str_eq(text(json, "lease_owner"), "host:1:17:ab");
    between(number(json, "due_in_ms"), 3540000, 3600000);
    between(number(json, "age_ms"), 60000, 120000);
    json_decref(json);
    CTL("outbox", "list");
    CTL_SAYS(EXIT_OK, "");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, " 1  pending      order.create  order.create:1      0  60m late"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "host:1:17:ab"));
    ck_assert_ptr_null(strstr(testing_ctl.out, "dead:1:2:cd")); /* it has the row no more */
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "?[2J'\"\\%_??"));
    ck_assert_ptr_null(strchr(testing_ctl.out, '\x1b'));
}
END_TEST

/* 1, 2, 4, ... 2^doublings rows, ids without gaps. */
static void multiply(const char *state, int doublings)
{
    testing_ctl_run_sql("SET SESSION innodb_lock_wait_timeout=3");
    testing_ctl_run_sql("INSERT INTO local_message(id,message_key,topic,payload,state) VALUES(1,'1','t','','%s')",
                        state);
    for (int i = 0; i < doublings; i++)
        testing_ctl_run_sql("INSERT INTO local_message(id,message_key,topic,payload,state) SELECT id+%d,id+%d,topic,"
                            "payload,state FROM local_message",
                            1 << i, 1 << i);
}

/* More than one page: each row once, by ascending id, in one table. */
START_TEST(listed_in_pages)
{
    int64_t last = 0;

    multiply(_i ? "sent" : "pending", 11);
    CTL("outbox", "list", "--limit", "0", "--state", _i ? "sent" : "pending");
    CTL_SAYS(EXIT_OK, "");
    for (const char *line = strchr(testing_ctl.out, '\n') + 1; *line; line = strchr(line, '\n') + 1) {
        if (!strchr(line, '\n'))
            break; /* cut */
        ck_assert_int_eq(atoll(line), ++last);
    }
    ck_assert_int_ge(last, 1500);
    CTL("outbox", "list");
    ck_assert_str_eq(testing_ctl.err, "orderctl: these are the first 100, there are more; `--limit 0` lists all\n");
}
END_TEST

/* Rows that a search meets only after long stretches of others, and at the edges of these. */
START_TEST(found_in_many)
{
    json_t *json;

    multiply("sent", 16);
    testing_ctl_run_sql("UPDATE local_message SET topic='rare' WHERE id IN(1,20000,20001,40000,40001,65536)");
    testing_ctl_run_sql("DELETE FROM local_message WHERE id BETWEEN 100 AND 200");
    CTL("outbox", "list", "--topic", "rare", "--json");
    ck_assert_str_eq(ids(NULL), "1 20000 20001 40000 40001 65536");
    CTL("outbox", "list", "--topic", "rare", "--json", "--limit", "3");
    ck_assert_str_eq(ids(NULL), "1 20000 20001");
    ck_assert_int_ne(testing_ctl.err[0], '\0');
    CTL("outbox", "stats", "--json");
    json = parsed(testing_ctl.out);
    ck_assert_int_eq(number(json, "sent"), 65536 - 101);
    ck_assert_int_eq(number(element(json_object_get(json, "topics"), "rare", "sent"), "rows"), 6);
    json_decref(json);
    CTL("outbox", "purge", "--state", "sent", "--topic", "t", "--json");
    CTL_SAYS(EXIT_OK, "orderctl: 65429 rows are deleted\n");
    ck_assert_str_eq(rows_in("sent"), "1 20000 20001 40000 40001 65536");
}
END_TEST

/* ---- show ---- */

START_TEST(shown)
{
    json_t *json;

    plant();
    CTL("outbox", "show", "order.create:1");
    CTL_SAYS(EXIT_OK, "");
    ck_assert_ptr_eq(strstr(testing_ctl.out, "message 1\n  key         order.create:1\n"), testing_ctl.out);
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "  payload     24 bytes of JSON\n"
                                                  "    {\n"
                                                  "      \"v\": 1,\n"
                                                  "      \"list\": [\n"
                                                  "        1.10,\n"
                                                  "        {}\n"
                                                  "      ]\n"
                                                  "    }\n"));
    CTL("outbox", "show", "6");
    ck_assert_ptr_nonnull(
        strstr(testing_ctl.out, "  key         \\x1b[2J'\"\\\\%_\\x0a\\x00\n  topic       t\\x0a\\x1b\n"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "  payload     6 bytes\n    a\\\\b\n    c\\x00\n"));
    CTL("outbox", "show", "6", "--json");
    json = parsed(testing_ctl.out);
    ck_assert_uint_eq(json_string_length(json_object_get(json, "payload")), 6);
    ck_assert_int_eq(memcmp(text(json, "payload"), "a\\b\nc", 6), 0);
    ck_assert(json_is_null(json_object_get(json, "payload_base64")));
    json_decref(json);
    CTL("outbox", "show", "7", "--json");
    json = parsed(testing_ctl.out);
    ck_assert(json_is_null(json_object_get(json, "payload")));
    ck_assert_str_eq(text(json, "payload_base64"), "AP8KGw==");
    ck_assert_str_eq(text(json, "lease_owner"), "dead:1:2:cd");
    ck_assert(json_is_false(json_object_get(json, "leased")));
    json_decref(json);
    CTL("outbox", "show", "7");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "  last lease  dead:1:2:cd\n"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "    \\x00\\xff\n    \\x1b\n"));
    CTL("outbox", "show", "5", "--json");
    json = parsed(testing_ctl.out);
    ck_assert_str_eq(text(json, "headers"), "{\"message-id\":\"x\"}");
    json_decref(json);
}
END_TEST

START_TEST(shown_missing)
{
    char longer[120];

    plant();
    CTL("outbox", "show", "99");
    CTL_SAYS(EXIT_BAD_DATA, "orderctl: outbox show: there is no message 99; see `orderctl outbox list`\n");
    CTL("outbox", "show", "\x1b[2J\u51ac");
    CTL_SAYS(EXIT_BAD_DATA, "orderctl: outbox show: there is no message \"?[2J???\"; see `orderctl outbox list`\n");
    CTL("outbox", "show", "98", "99");
    CTL_SAYS(EXIT_BAD_DATA, "orderctl: warning: there is no message 98\norderctl: warning: there is no message 99\n"
                            "orderctl: outbox show: there is no message of these names; see `orderctl outbox list`\n");
    memset(longer, 'k', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    CTL("outbox", "show", "5", longer, "1", "--json");
    ck_assert_int_eq(testing_ctl.code, EXIT_PARTIAL);
    ck_assert_str_eq(ids(NULL), "5 1");
    CTL_READS("5\r\n\nstock.return:4\n1", "outbox", "show", "2", "-", "--json");
    CTL_SAYS(EXIT_OK, "");
    ck_assert_str_eq(ids(NULL), "2 5 4 1");
    CTL("outbox", "show", "-");
    CTL_SAYS(EXIT_OK, "orderctl: standard input named no message\n");
}
END_TEST

/* ---- retry ---- */

/* Due now, as if it had never been tried. */
static void is_fresh(int64_t id)
{
    ck_assert_int_eq(
        testing_ctl_number("SELECT state='pending' AND attempts=0 AND due_at<=NOW(6) AND "
                           "due_at>NOW(6)-INTERVAL 1 MINUTE AND lease_owner IS NULL AND lease_until IS NULL "
                           "AND sent_at IS NULL FROM local_message WHERE id=%" PRId64,
                           id),
        1);
}

START_TEST(retried)
{
    int64_t before;

    plant();
    before = fingerprint();
    CTL("outbox", "retry", "order.create:1", "2", "3", "4", "5", "6", "7", "5", "stock.return:5", "--dry-run",
        "--json");
    CTL_SAYS(EXIT_PARTIAL, "orderctl: 5 of 7 would be sent; nothing was changed\n");
    ck_assert_str_eq(ids("result"), "1=would_be_retried 2=would_be_retried 3=leased 4=sent 5=would_be_retried "
                                    "6=would_be_retried 7=would_be_retried");
    ck_assert_int_eq(fingerprint(), before);

    CTL("outbox", "retry", "2", "5", "7", "--json");
    CTL_SAYS(EXIT_OK, "orderctl: 3 of 3 are due now, for the relay of a running orderd to send\n");
    ck_assert_str_eq(ids("was"), "2=pending 5=quarantined 7=pending");
    is_fresh(2);
    is_fresh(5);
    is_fresh(7);
    ck_assert_str_eq(rows_in("quarantined"), "6");
}
END_TEST

START_TEST(not_retried)
{
    int64_t before;

    plant();
    before = fingerprint();
    CTL("outbox", "retry", "3", "4", "no such", "99", "--json");
    CTL_SAYS(EXIT_PARTIAL, "orderctl: 0 of 4 are due now, for the relay of a running orderd to send\n");
    ck_assert_str_eq(ids("result"), "0=missing 99=missing 3=leased 4=sent");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out,
                                 "\"detail\":\"host:1:17:ab is sending it right now, or was: its lease "
                                 "ends in 59m\""));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\"detail\":\"it is sent; --sent sends it again\""));
    ck_assert_int_eq(fingerprint(), before);
    CTL("outbox", "retry", "3");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, " 3  leased  order.dead  order.dead:3  host:1:17:ab is sending it"));
    CTL_READS("", "outbox", "retry", "-");
    CTL_SAYS(EXIT_OK, "orderctl: there is no message to retry\n");
    ck_assert_int_eq(fingerprint(), before);
}
END_TEST

START_TEST(sent_again)
{
    plant();
    CTL("outbox", "retry", "4", "1", "--sent", "--json");
    CTL_SAYS(EXIT_OK,
             "orderctl: warning: 1 of these were sent before: every receiver must recognise a message that it has had\n"
             "orderctl: 2 of 2 are due now, for the relay of a running orderd to send\n");
    is_fresh(4);
    is_fresh(1);
    ck_assert_str_eq(rows_in("sent"), "");
}
END_TEST

START_TEST(retried_by_topic)
{
    plant();
    testing_ctl_run_sql(INSERT "(8,'x','stock.returns','','','quarantined',1,NOW(6),NULL,NULL,NULL,NOW(6),NULL)");
    CTL("outbox", "retry", "--all-quarantined", "--topic", "stock.return", "--json");
    CTL_SAYS(EXIT_OK, "orderctl: 1 of 1 are due now, for the relay of a running orderd to send\n");
    ck_assert_str_eq(ids("result"), "5=retried");
    is_fresh(5);
    CTL("outbox", "retry", "--all-quarantined", "--topic", "stock.return");
    CTL_SAYS(EXIT_OK, "orderctl: there is no message to retry\n");
    CTL_READS("8\nno such\r\n", "outbox", "retry", "6", "-", "--json", "-q");
    CTL_SAYS(EXIT_PARTIAL, "");
    ck_assert_str_eq(ids("result"), "0=missing 6=retried 8=retried");
    ck_assert_str_eq(rows_in("quarantined"), "");
}
END_TEST

/* More than one batch. */
START_TEST(retried_many)
{
    multiply("quarantined", 11);
    CTL("outbox", "retry", "--all-quarantined");
    CTL_SAYS(EXIT_OK, "orderctl: 2048 of 2048 are due now, for the relay of a running orderd to send\n");
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM local_message WHERE state='pending'"), 2048);
}
END_TEST

/* The holder of a lease that is over must not mark the row once it was retried. */
START_TEST(fenced)
{
    struct local_messages list;
    size_t written = 9;

    plant();
    CTL("outbox", "retry", "7");
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    local_messages_init(&list);
    local_messages_add(&list, slice_of("order.create:7"), "order.create", slice_of(""), slice_of(""), "dead:1:2:cd");
    ck_assert_ok(local_message_settle(testing_ctl_db, &list, LOCAL_MESSAGE_SENT, 0, NULL, &written, &err), &err);
    ck_assert_uint_eq(written, 0);
    local_messages_free(&list);
    is_fresh(7);
}
END_TEST

/* Whether a command has come to the rows that this test has locked: its statement does not end. */
static bool waits_for_lock(void)
{
    return testing_ctl_number("SELECT COUNT(*) FROM information_schema.processlist WHERE db=DATABASE() AND "
                              "command='Query' AND id<>CONNECTION_ID() AND (info LIKE '%%FOR UPDATE' OR info LIKE "
                              "'DELETE m %%')") == 1;
}

static void start(struct program *p, const char *const *args)
{
    const char *argv[16] = {"orderctl", "-c", testing_ctl_file};

    for (size_t i = 0; args[i]; i++)
        argv[3 + i] = args[i];
    program_start(p, argv);
}

/* While a command waits for the first of its rows, its rows change: a relay takes one, somebody else retries another,
 * one is sent, one is deleted, and another falls into quarantine. It is about what it saw, and about nothing else. */
START_TEST(changed_meanwhile)
{
    static struct program p;
    const char *const named[] = {"outbox", "retry", "--json", "-q", "--sent", "1", "2", "5", "6", "7", NULL};
    const char *const all[] = {"outbox", "retry", "--json", "-q", "--all-quarantined", NULL};

    plant();
    testing_ctl_run_sql("BEGIN; SELECT id FROM local_message WHERE id IN(1,5) FOR UPDATE");
    start(&p, _i ? all : named);
    testing_wait(waits_for_lock(), 10000, "the lock");
    testing_ctl_run_sql("UPDATE local_message SET lease_owner='r',lease_until=NOW(6)+INTERVAL 1 HOUR WHERE id=1;"
                        "UPDATE local_message SET state='sent' WHERE id=2;"
                        "UPDATE local_message SET state='pending' WHERE id=5;"
                        "DELETE FROM local_message WHERE id=6;"
                        "UPDATE local_message SET state='quarantined' WHERE id=3;COMMIT");
    program_wait(&p);
    testing_ctl = p;
    ck_assert_int_eq(p.code, EXIT_PARTIAL);
    ck_assert_str_eq(ids("result"), _i ? "5=changed 6=missing" : "1=leased 2=changed 5=changed 6=missing 7=retried");
    ck_assert_str_eq(rows_in("quarantined"), "3");
    ck_assert_str_eq(rows_in("sent"), "2 4");
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM local_message WHERE id=1 AND lease_owner='r'"), 1);
    ck_assert_int_eq(testing_ctl_number("SELECT attempts FROM local_message WHERE id=5"), 20);
}
END_TEST

#define RELAYS 3

struct rival {
    pthread_t thread;
    struct conf *conf;
    char owner[16];
    int number;
    size_t settled, lost;
    bool ok;
};

static atomic_bool over;

/* One round of a relay. What it settles as AGAIN or QUARANTINE comes back by the retries of the other side. */
static bool claim_and_settle(struct db *db, struct rival *r, unsigned round, struct error *e)
{
    struct local_messages list;
    enum local_message_result result = round % 2 ? LOCAL_MESSAGE_QUARANTINE : LOCAL_MESSAGE_AGAIN;
    size_t written = 0, count;
    bool ok, more;

    local_messages_init(&list);
    ok = local_message_claim(db, r->owner, 60000, 20, &list, &more, e);
    count = list.count;
    ok = ok && local_message_settle(db, &list, result, 60000, "why", &written, e);
    local_messages_free(&list);
    r->settled += written;
    if (ok)
        r->lost += count - written;
    return ok;
}

static void *rival(void *data)
{
    struct rival *r = data;
    struct error e = {0};
    struct db *db = db_open(r->conf, &e);
    unsigned round = 0;

    r->ok = db != NULL;
    while (r->ok && !atomic_load(&over)) {
        if (!claim_and_settle(db, r, round++, &e)) {
            db_rollback(db);
            r->ok = error_class_of(&e) == ERROR_CLASS_TRANSIENT;
        }
    }
    db_close(&db);
    return NULL;
}

/* No retry takes a row away from a relay that has it: each marks all that it claimed. Small numbers of rows, so that
 * they meet all the time. */
START_TEST(relays_meanwhile)
{
    struct rival rivals[RELAYS];
    struct strbuf names = STRBUF_INIT;
    size_t settled = 0;
    struct conf *conf = testing_conf(NULL);

    conf->mysql_database = testing_ctl_schema;
    multiply("quarantined", 6);
    for (int i = 1; i <= 64; i++)
        strbuf_addf(&names, "%d\n", i);
    for (int i = 0; i < RELAYS; i++) {
        rivals[i] = (struct rival){.conf = conf, .number = i};
        snprintf(rivals[i].owner, sizeof rivals[i].owner, "rival%d", i);
        ck_assert_int_eq(pthread_create(&rivals[i].thread, NULL, rival, &rivals[i]), 0);
    }
    for (int i = 0; i < 25; i++) {
        CTL_READS(names.data, "outbox", "retry", "-q", "-");
        ck_assert_msg(testing_ctl.code == EXIT_OK || testing_ctl.code == EXIT_PARTIAL, "%s", testing_ctl.err);
    }
    atomic_store(&over, true);
    for (int i = 0; i < RELAYS; i++) {
        ck_assert_int_eq(pthread_join(rivals[i].thread, NULL), 0);
        ck_assert(rivals[i].ok);
        ck_assert_uint_eq(rivals[i].lost, 0);
        settled += rivals[i].settled;
    }
    ck_assert_uint_gt(settled, 64); /* they did meet */
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM local_message"), 64);
    strbuf_release(&names);
    conf_destroy(&conf);
}
END_TEST

/* ---- purge ---- */

START_TEST(purged_sent)
{
    int64_t before;
    json_t *json;

    plant();
    before = fingerprint();
    CTL("outbox", "purge", "--state", "sent", "--dry-run");
    CTL_SAYS(EXIT_OK, "orderctl: 1 rows would be deleted; nothing was changed\n");
    ck_assert_str_eq(testing_ctl.out, "ROWS  TOPIC\n   1  stock.return\n");
    CTL("outbox", "purge", "--state", "sent", "--older-than", "4h");
    CTL_SAYS(EXIT_OK, "orderctl: there is nothing to delete\n");
    CTL("outbox", "purge", "--state", "sent", "--topic", "order.create", "--json");
    json = parsed(testing_ctl.out);
    ck_assert_int_eq(number(json, "rows"), 0);
    json_decref(json);
    CTL("outbox", "purge", "--state", "sent", "--key", "stock_return:");
    CTL("outbox", "purge", "--state", "sent", "--until", "-6h");
    CTL("outbox", "purge", "--state", "sent", "1", "5");
    CTL_SAYS(EXIT_PARTIAL, "orderctl: warning: message 1 is pending and stays\n"
                           "orderctl: warning: message 5 is quarantined and stays\n"
                           "orderctl: there is nothing to delete\n");
    CTL_READS("", "outbox", "purge", "--state", "sent", "-");
    CTL_SAYS(EXIT_OK, "orderctl: there is nothing to delete\n");
    ck_assert_int_eq(fingerprint(), before);

    CTL("outbox", "purge", "--state", "sent", "--older-than", "2h", "--json");
    CTL_SAYS(EXIT_OK, "orderctl: 1 rows are deleted\n");
    ck_assert_str_eq(testing_ctl.out, "{\"state\":\"sent\",\"dry_run\":false,\"rows\":1,\"deleted\":1,\"topics\":["
                                      "{\"topic\":\"stock.return\",\"rows\":1}]}\n");
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM local_message"), 6);
    ck_assert_str_eq(rows_in("sent"), "");
}
END_TEST

/* How often a lost message was sent again is known from its row alone: without it the walk would begin anew, and feed a
 * backlog with copies. */
START_TEST(purged_sent_without_recoveries)
{
    testing_ctl_run_sql("INSERT INTO orders(order_no,activity_id,user_id,user_seq,sku_id,quantity,amount,shard,epoch,"
                        "status,reserved_at) VALUES('there',1,1,0,77,1,1,0,1,'pending','2026-01-01');"
                        "INSERT INTO local_message(message_key,topic,payload,state,sent_at) VALUES"
                        "('recover:there','order.create','{}','sent','2026-01-02'),"
                        "('recover:missing','order.create','{}','sent','2026-01-02')");
    CTL("outbox", "purge", "--state", "sent");
    CTL_SAYS(
        EXIT_OK,
        "orderctl: 1 rows are deleted; the others tell how often the message of an order that is not there yet was "
        "sent again\n");
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM local_message WHERE message_key='recover:missing'"), 1);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM local_message WHERE state='sent'"), 1);
}
END_TEST

#define LOSS(would)                                                                                                    \
    "orderctl: warning: 1 of these are stock.return: the units they give back " would                                  \
    " on sale again; `orderctl outbox retry` sends them instead\n"

START_TEST(purged_quarantined)
{
    int64_t before;

    plant();
    before = fingerprint();
    CTL("outbox", "purge", "--state", "quarantined", "--dry-run");
    CTL_SAYS(EXIT_OK, LOSS("would never be") "orderctl: 2 rows would be deleted, and what they hold never be sent; "
                                             "nothing was changed; `--confirm 2` in the place of "
                                             "--dry-run deletes them\n");
    for (int i = 0; i < 3; i++) {
        static const char *const wrong[] = {"1", "3", "0"};
        char sentence[160];

        CTL("outbox", "purge", "--state", "quarantined", "--confirm", wrong[i]);
        snprintf(sentence, sizeof sentence,
                 "orderctl: outbox purge: 2 rows would be deleted, not the %s of --confirm; nothing was deleted; look "
                 "again with --dry-run\n",
                 wrong[i]);
        CTL_SAYS(EXIT_BAD_DATA, sentence);
        ck_assert_str_eq(testing_ctl.out, "");
    }
    CTL("outbox", "purge", "--state", "quarantined", "--confirm", "2", "--dry-run", "-q");
    CTL_SAYS(EXIT_OK, LOSS("would never be"));
    ck_assert_int_eq(fingerprint(), before);

    CTL("outbox", "purge", "--state", "quarantined", "--older-than", "1d", "--confirm", "1");
    CTL_SAYS(EXIT_OK, "orderctl: 1 rows are deleted\n");
    ck_assert_str_eq(rows_in("quarantined"), "5");
    CTL("outbox", "purge", "--state", "quarantined", "5", "stock.return:5", "--confirm", "1");
    CTL_SAYS(EXIT_OK, LOSS("are never") "orderctl: 1 rows are deleted\n");
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM local_message"), 5);
    ck_assert_str_eq(rows_in("pending"), "1 2 3 7");
    ck_assert_str_eq(rows_in("sent"), "4");
}
END_TEST

/* The state of what is named need not be said. */
START_TEST(purged_by_name)
{
    plant();
    CTL("outbox", "purge", "4", "--dry-run");
    CTL_SAYS(EXIT_OK, "orderctl: 1 rows would be deleted; nothing was changed\n");
    CTL("outbox", "purge", "5");
    CTL_SAYS(EXIT_USAGE,
             "orderctl: outbox purge: what is quarantined was never sent; deleting it needs --confirm with the "
             "number of rows that --dry-run names; see `orderctl outbox purge --help`\n");
    CTL("outbox", "purge", "4", "5", "--confirm", "1");
    CTL_SAYS(EXIT_USAGE,
             "orderctl: outbox purge: some of these are sent and some quarantined; say which, with --state; see "
             "`orderctl outbox purge --help`\n");
    CTL("outbox", "purge", "1");
    CTL_SAYS(EXIT_PARTIAL, "orderctl: warning: message 1 is pending and stays\norderctl: there is nothing to delete\n");
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM local_message"), 7);
    CTL("outbox", "purge", "4");
    CTL_SAYS(EXIT_OK, "orderctl: 1 rows are deleted\n");
    CTL("outbox", "purge", "5", "--confirm", "1", "-q");
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    ck_assert_str_eq(rows_in("sent"), "");
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM local_message"), 5);
}
END_TEST

/* What was retried after it was counted stays, and so does what was quarantined since. */
START_TEST(purged_what_was_counted)
{
    static struct program p;
    const char *const args[] = {"outbox", "purge", "--state", "quarantined", "--confirm", "2", "-q", NULL};

    plant();
    testing_ctl_run_sql("BEGIN; SELECT id FROM local_message WHERE id=5 FOR UPDATE");
    start(&p, args);
    testing_wait(waits_for_lock(), 10000, "the lock");
    testing_ctl_run_sql("UPDATE local_message SET state='pending' WHERE id=5;"
                        "UPDATE local_message SET state='quarantined' WHERE id=1;COMMIT");
    program_wait(&p);
    ck_assert_int_eq(p.code, EXIT_PARTIAL);
    ck_assert_str_eq(rows_in("quarantined"), "1");
    ck_assert_str_eq(rows_in("pending"), "2 3 5 7");
}
END_TEST

/* A lock that nobody gives up: tried for a while, then said. */
START_TEST(locked_for_long)
{
    plant();
    testing_ctl_run_sql("BEGIN; SELECT id FROM local_message WHERE id=5 FOR UPDATE");
    testing_ctl_configure(&(struct testing_ctl_conf){.db_more = "lock_wait_timeout = \"1s\";"});
    CTL("outbox", "retry", "5");
    ck_assert_int_eq(testing_ctl.code, EXIT_TEMPORARY);
    ck_assert_ptr_nonnull(strstr(testing_ctl.err, "; run the same command again: it goes on where it stopped\n"));
    testing_ctl_run_sql("ROLLBACK");
    ck_assert_str_eq(rows_in("quarantined"), "5 6");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("ctl_outbox");
    TCase *read = tcase_create("read"), *change = tcase_create("change");

    tcase_add_checked_fixture(read, setup, testing_ctl_teardown);
    tcase_add_checked_fixture(change, setup, testing_ctl_teardown);
    tcase_set_timeout(read, 60);
    tcase_set_timeout(change, 60);
    tcase_add_test(read, stats);
    tcase_add_test(read, stats_of_errors);
    tcase_add_loop_test(read, listed, 0, (int)(sizeof lists / sizeof *lists));
    tcase_add_test(read, listed_whole);
    tcase_add_loop_test(read, listed_in_pages, 0, 2);
    tcase_add_test(read, found_in_many);
    tcase_add_test(read, shown);
    tcase_add_test(read, shown_missing);
    tcase_add_test(change, retried);
    tcase_add_test(change, not_retried);
    tcase_add_test(change, sent_again);
    tcase_add_test(change, retried_by_topic);
    tcase_add_test(change, retried_many);
    tcase_add_test(change, fenced);
    tcase_add_loop_test(change, changed_meanwhile, 0, 2);
    tcase_add_test(change, relays_meanwhile);
    tcase_add_test(change, purged_sent);
    tcase_add_test(change, purged_sent_without_recoveries);
    tcase_add_test(change, purged_quarantined);
    tcase_add_test(change, purged_by_name);
    tcase_add_test(change, purged_what_was_counted);
    tcase_add_test(change, locked_for_long);
    suite_add_tcase(s, read);
    suite_add_tcase(s, change);
    return testing_main(s);
}

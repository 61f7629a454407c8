#include "testing_misuse.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "orderd/exitcode.h"
#include "testing_sale.h"

#define ORDER_NO "1812345678901234567" /* as tests/testing_line.c names it */

struct program misuse;
struct testing_line misuse_line;

/* ---- what there is to be shown ---- */

static void add_rows(void)
{
    testing_ctl_run_sql("INSERT INTO local_message(id,message_key,topic,payload,state) "
                        "VALUES(1,'test.misuse','test.topic','{}','sent')");
    testing_ctl_run_sql(
        "INSERT INTO "
        "dead_letter(id,letter_key,message_id,content_type,body,headers,reason,detail,queue,attempts,died_at,"
        "death_told) "
        "VALUES(1,UNHEX(SHA2('1',256)),'1','','{}','{}','body_not_json','','order.create',0,UTC_TIMESTAMP(3),1)");
    testing_ctl_run_sql("INSERT INTO dead_letter_action(letter_id,action,who) VALUES(1,'drain','test')");
}

void misuse_setup(void)
{
    sale_setup();
    sale_preheat();
    sale_sell(ORDER_NO, 1, 1, 0, ORDER_PENDING);
    add_rows();
}

/* ---- one run ---- */

bool misuse_is(size_t command, const char *const *words, size_t count)
{
    while (count > 0 && strcmp(ctl_commands[command].words, words[count - 1]) != 0)
        count--;
    return count > 0;
}

void misuse_begin(size_t command, bool dry_run)
{
    testing_line_words(&misuse_line, command, testing_ctl_file);
    testing_line_fill(&misuse_line, command, CTL_OPTION_COUNT, sale_text);
    if (dry_run)
        testing_line_dry_run(&misuse_line, command);
}

int misuse_run(void)
{
    program_start(&misuse, misuse_line.args);
    program_wait(&misuse);
    return misuse.code;
}

struct misuse_usual misuse_usual[CTL_COMMAND_COUNT];

void misuse_measure(void)
{
    for (size_t c = 0; c < CTL_COMMAND_COUNT; c++) {
        misuse_begin(c, true);
        misuse_usual[c].code = misuse_run();
        misuse_usual[c].prints = misuse.out[0] != '\0';
        ck_assert_msg(misuse_usual[c].code != EXIT_USAGE && misuse_usual[c].code != EXIT_INTERNAL &&
                          misuse_usual[c].code < 128,
                      "%s: %d %s", testing_line_text(&misuse_line), misuse_usual[c].code, misuse.err);
    }
}

int64_t misuse_database(void)
{
    return testing_ctl_number(
        "SELECT (SELECT COALESCE(SUM(CRC32(CONCAT_WS('/',id,state,epoch,starts_at,ends_at,title))),0) FROM activity) + "
        "(SELECT COALESCE(SUM(CRC32(CONCAT_WS('/',activity_id,total,available))),0) FROM activity_stock) + "
        "(SELECT COALESCE(SUM(CRC32(CONCAT_WS('/',order_no,status))),0) FROM orders) + "
        "(SELECT COALESCE(SUM(CRC32(CONCAT_WS('/',id,state,attempts,due_at))),0) FROM local_message) + "
        "(SELECT COALESCE(SUM(CRC32(CONCAT_WS('/',id,state))),0) FROM dead_letter) + "
        "(SELECT COUNT(*) FROM dead_letter_action) + (SELECT COUNT(*) FROM schema_migration)");
}

void misuse_fails_well(size_t command, const int *codes, size_t count, const char *how)
{
    const char *newline = strchr(misuse.err, '\n');
    char what[1200];
    size_t i = 0;

    snprintf(what, sizeof what, "%s: %s", how, testing_line_text(&misuse_line));
    if (misuse.code == misuse_usual[command].code && misuse.code == EXIT_OK) {
        ck_assert_msg(!newline || newline[1] == '\0', "%s says %s", what, misuse.err);
        return;
    }
    while (i < count && codes[i] != misuse.code)
        i++;
    if (!misuse.err[0] && misuse.out[0] && (i < count || misuse.code == misuse_usual[command].code))
        return; /* a verdict, printed */
    testing_says(&misuse, "orderctl", i < count ? codes[i] : misuse_usual[command].code, what);
}

bool misuse_is_report(size_t command)
{
    return strcmp(ctl_commands[command].words, "doctor") == 0;
}

void misuse_all(const int *codes, size_t count, bool dry_run, const char *how)
{
    int64_t before = misuse_database();

    for (size_t c = 0; c < CTL_COMMAND_COUNT; c++) {
        if (misuse_is_report(c))
            continue;
        misuse_begin(c, dry_run);
        misuse_run();
        misuse_fails_well(c, codes, count, how);
        ck_assert_msg(misuse_database() == before, "%s changed something: %s", how, testing_line_text(&misuse_line));
    }
}

const char *misuse_empty_schema(void)
{
    static char empty[80];

    snprintf(empty, sizeof empty, "%s_empty", testing_ctl_schema);
    testing_ctl_run_sql("CREATE DATABASE %s", empty);
    return empty;
}

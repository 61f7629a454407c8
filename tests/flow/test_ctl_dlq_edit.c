/* orderctl dlq replay --edit and --editor: a body that no queue takes gets another; the original is kept, and nothing
 * changes unless it was shown, is good, and was confirmed. */
#include "testing_dlq.h"
#include "testing_sale.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "orderd/clock.h"
#include "orderd/exitcode.h"
#include "orderd/order.h"

#define BAD "{\"v\":1,\"order_no\":\"lost\",\xff}"

static char id[24], other[24], file[64], folder[64], body[400];

static int64_t letter_of(const char *message_id, const char *queue, const char *hex)
{
    testing_ctl_run_sql("INSERT INTO dead_letter(letter_key,message_id,content_type,body,headers,reason,detail,queue,"
                        "attempts,died_at,death_told) VALUES(UNHEX(SHA2('%s',256)),'%s','application/json',0x%s,"
                        "'{\"traceparent\":\"00-1-2-01\"}','body_not_json','','%s',0,UTC_TIMESTAMP(),1)",
                        message_id, message_id, hex, queue);
    return dlq_id(message_id);
}

static void hex_of(const char *text, char out[800])
{
    out[0] = '\0';
    for (; *text; text++)
        snprintf(out + strlen(out), 3, "%02x", (unsigned char)*text);
}

/* The message of the reservation, as it should have been. */
static void compose(const char *order_no, int64_t user)
{
    struct order o = {.activity_id = sale_id,
                      .user_id = user,
                      .sku_id = 77,
                      .quantity = 1,
                      .amount = SALE_PRICE,
                      .shard = 1,
                      .epoch = sale_row().epoch,
                      .reserved_at = clock_wall_ms()};
    struct strbuf out = STRBUF_INIT;

    snprintf(o.order_no, sizeof o.order_no, "%s", order_no);
    order_encode(&o, &out);
    snprintf(body, sizeof body, "%s", out.data);
    strbuf_release(&out);
}

static void write_file(const char *text)
{
    FILE *f = fopen(file, "w");

    ck_assert(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void setup(void)
{
    char hex[800];

    sale_setup_queued();
    sale_preheat();
    sale_deduct("lost", 1, 1, 1);
    hex_of(BAD, hex);
    snprintf(id, sizeof id, "%" PRId64, letter_of("lost", "order.create", hex));
    compose("whole", 2);
    hex_of(body, hex);
    snprintf(other, sizeof other, "%" PRId64, letter_of("whole", "order.create", hex));
    compose("lost", 1);
    snprintf(file, sizeof file, "/tmp/%s.json", testing_ctl_schema);
    write_file(body);
}

static void teardown(void)
{
    unlink(file);
    sale_teardown();
}

static int64_t made(const char *kind)
{
    return testing_ctl_number("SELECT COUNT(*) FROM dead_letter_made WHERE letter_id=%s AND kind='%s'", id, kind);
}

static void nothing_changed(void)
{
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter_made"), 0);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter_action"), 0);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter WHERE state='open'"), 2);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM local_message"), 0);
}

static void is_mended(void)
{
    char hex[800];

    hex_of(BAD, hex);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter WHERE id=%s AND state='replayed' AND "
                                        "body=0x%s AND order_no='lost' AND activity_id=%s",
                                        id, hex, sale_text),
                     1);
    ck_assert_int_eq(made("body"), 1);
    ck_assert_int_eq(made("message"), 1);
    ck_assert_int_eq(testing_ctl_number(
                         "SELECT COUNT(*) FROM dead_letter_action WHERE letter_id=%s AND action='edited' AND who LIKE "
                         "'%%@%%' AND note=CONCAT('%zu bytes of SHA-256 ',SHA2(0x%s,256),' became %zu bytes of SHA-256 "
                         "',SHA2('%s',256))",
                         id, strlen(BAD), hex, strlen(body), body),
                     1);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM local_message WHERE message_key='replay:%s:1' AND "
                                        "topic='order.create' AND payload='%s' AND "
                                        "JSON_VALUE(headers,'$.traceparent')='00-1-2-01' AND "
                                        "JSON_VALUE(headers,'$.\"message-id\"')='lost'",
                                        id, body),
                     1);
}

START_TEST(shows_first)
{
    CTL("dlq", "replay", id, "--edit", file);
    CTL_SAYS(EXIT_OK, "orderctl: 1 would be replayed, 0 renewed, 0 resolved, 0 refused; nothing was changed; "
                      "`--confirm 1` does it\n");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "  - {\"v\":1,\"order_no\":\"lost\",\\xff}\n"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "  +   \"order_no\": \"lost\",\n"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "order lost is not there"));
    CTL("dlq", "replay", id, "--edit", file, "--json", "-q");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\"edit\":{\"before\":null,\"before_base64\":\""));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\"after\":\"{\\\"v\\\":1,"));
    nothing_changed();
    CTL("dlq", "replay", id, "--edit", file, "--confirm", "2", "-q");
    ck_assert_int_eq(testing_ctl.code, EXIT_BAD_DATA);
    nothing_changed();
}
END_TEST

/* From a file, or from standard input with a newline at its end; then the daemon makes the order. */
START_TEST(mends)
{
    static struct program daemon;
    int in;

    if (_i) {
        char line[sizeof body + 1];

        snprintf(line, sizeof line, "%s\n", body);
        write_file(line);
        in = open(file, O_RDONLY);
        program_start_reading(&testing_ctl,
                              (const char *const[]){"orderctl", "-c", testing_ctl_file, "dlq", "replay", id, "--edit",
                                                    "-", "--confirm", "1", "-q", NULL},
                              in);
        program_wait(&testing_ctl);
        close(in);
    } else {
        CTL("dlq", "replay", id, "--edit", file, "--confirm", "1", "-q");
    }
    CTL_SAYS(EXIT_OK, "");
    is_mended();
    CTL("dlq", "show", id);
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "  new body    "));
    if (_i)
        return;
    program_start(&daemon, (const char *const[]){"orderd", "-c", testing_ctl_file, NULL});
    testing_wait(testing_ctl_number("SELECT COUNT(*) FROM orders WHERE order_no='lost' AND status='pending'") == 1,
                 20000, "the order is there");
    kill(daemon.pid, SIGTERM);
    program_wait(&daemon);
}
END_TEST

/* Killed between the two: the new body is in force, and the letter is one like any other. */
START_TEST(killed)
{
    DLQ_KILLED("edit.after_commit=kill@1", "dlq", "replay", id, "--edit", file, "--confirm", "1");
    ck_assert_int_eq(made("body"), 1);
    ck_assert_int_eq(made("message"), 0);
    if (_i)
        CTL("dlq", "replay", id, "--edit", file, "--confirm", "1", "-q"); /* the same body is no edit */
    else
        CTL("dlq", "replay", id, "--confirm", "1", "-q");
    CTL_SAYS(EXIT_OK, "");
    is_mended();
}
END_TEST

/* The newest is in force, and the one before it is kept. */
START_TEST(twice)
{
    DLQ_KILLED("edit.after_commit=kill@1", "dlq", "replay", id, "--edit", file, "--confirm", "1");
    strcat(body, " ");
    write_file(body);
    CTL("dlq", "replay", id, "--edit", file, "--confirm", "1", "-q");
    CTL_SAYS(EXIT_OK, "");
    ck_assert_int_eq(made("body"), 2);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM local_message WHERE payload='%s'", body), 1);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter_action WHERE action='edited' AND note LIKE "
                                        "'%zu bytes of %%became %zu bytes of %%'",
                                        strlen(body) - 1, strlen(body)),
                     1);
}
END_TEST

static void other_buyer(void)
{
    compose("lost", 9);
    write_file(body);
}

static void not_json(void)
{
    write_file("hello");
}

static void no_file(void)
{
    unlink(file);
}

static void too_large(void)
{
    char *text = calloc(1, 70000);

    memset(text, 'x', 69999);
    write_file(text);
    free(text);
}

static void not_open(void)
{
    testing_ctl_run_sql("UPDATE dead_letter SET state='discarded' WHERE id=%s", id);
}

static void open_again(void)
{
    testing_ctl_run_sql("UPDATE dead_letter SET state='open'");
}

static void nothing(void)
{
}

static const struct {
    void (*before)(void);
    const char *letter, *confirm;
    int code;
    const char *says;
} wrong[] = {
    {nothing, other, "1", EXIT_BAD_DATA, "has a body that can be taken; it needs no other"},
    {other_buyer, id, "0", EXIT_PARTIAL, "Redis holds lost for user 1, 1 units for 9900 in epoch 1, which is not what"},
    {not_json, id, "1", EXIT_BAD_DATA, "with the new body: its body can never be taken: "},
    {no_file, id, "1", EXIT_IO, "cannot read "},
    {too_large, id, "1", EXIT_BAD_DATA, "has more than 65536 bytes, which no queue takes"},
    {not_open, id, "1", EXIT_BAD_DATA, "is discarded"},
    {open_again, "999", "1", EXIT_BAD_DATA, "there is no letter 999"},
};

START_TEST(refused)
{
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        wrong[i].before();
        CTL("dlq", "replay", wrong[i].letter, "--edit", file, "--confirm", wrong[i].confirm);
        ck_assert_msg(testing_ctl.code == wrong[i].code, "%zu: %d %s", i, testing_ctl.code, testing_ctl.err);
        ck_assert_msg(strstr(testing_ctl.err, wrong[i].says) || strstr(testing_ctl.out, wrong[i].says),
                      "%s not in %s %s", wrong[i].says, testing_ctl.err, testing_ctl.out);
    }
    nothing_changed();
}
END_TEST

/* Two people with a body each: one is in force, and what was sent is that one. */
START_TEST(two_people)
{
    static struct program slow;
    int status;

    program_faults("edit.after_commit=stop@1");
    program_start(&slow, (const char *const[]){"orderctl", "-c", testing_ctl_file, "dlq", "replay", id, "--edit", file,
                                               "--confirm", "1", NULL});
    program_faults(NULL);
    ck_assert_int_eq(waitpid(slow.pid, &status, WUNTRACED), slow.pid);
    CTL("dlq", "replay", id, "--confirm", "1", "-q");
    CTL_SAYS(EXIT_OK, "");
    kill(slow.pid, SIGCONT);
    program_wait(&slow);
    ck_assert_int_eq(slow.code, EXIT_PARTIAL);
    is_mended();
}
END_TEST

/* ---- an editor, on a terminal of its own ---- */

/* Runs orderctl with this script as the editor; answers its exit code. Its output is dropped. */
static int edited_by(const char *script, const char *confirm)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY), status;
    char dropped[4096];
    pid_t pid;

    ck_assert(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    pid = fork();
    if (pid == 0) {
        int terminal = open(ptsname(master), O_RDWR);
        char path[512];

        setsid();
        dup2(terminal, 0);
        dup2(terminal, 1);
        dup2(terminal, 2);
        snprintf(path, sizeof path, "%s/src/orderctl", testing_env("ORDERD_BUILD"));
        setenv("VISUAL", script, 1);
        setenv("TMPDIR", folder, 1);
        execl(path, "orderctl", "-c", testing_ctl_file, "dlq", "replay", id, "--editor", "--confirm", confirm,
              (char *)NULL);
        _exit(127);
    }
    for (;;) {
        struct pollfd fd = {.fd = master, .events = POLLIN};

        if (poll(&fd, 1, 50) > 0 && (fd.revents & POLLIN) && read(master, dropped, sizeof dropped) > 0)
            continue;
        if (waitpid(pid, &status, WNOHANG) == pid)
            break;
    }
    close(master);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

START_TEST(editor)
{
    char script[200];

    snprintf(folder, sizeof folder, "/tmp/%s.d", testing_ctl_schema);
    ck_assert_int_eq(mkdir(folder, 0700), 0);
    CTL("dlq", "replay", id, "--editor");
    ck_assert_int_eq(testing_ctl.code, EXIT_USAGE);
    ck_assert_ptr_nonnull(strstr(testing_ctl.err, "--editor needs a terminal; else give the new body by --edit FILE"));
    ck_assert_int_eq(edited_by("false", "1"), EXIT_IO);
    ck_assert_int_eq(edited_by("true", "1"), EXIT_BAD_DATA); /* it is as bad as it was */
    nothing_changed();
    snprintf(script, sizeof script, "cp %s", file);
    ck_assert_int_eq(edited_by(script, "1"), EXIT_OK);
    is_mended();
    snprintf(script, sizeof script, "test $(ls %s | wc -l) = 1 && rm -r %s", folder, folder);
    ck_assert_int_eq(system(script), 0); /* the bad one is kept, the good one is in force */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ctl_dlq_edit");
    TCase *t = tcase_create("edit");

    tcase_add_unchecked_fixture(t, sale_queues_make, sale_queues_delete);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, shows_first);
    tcase_add_loop_test(t, mends, 0, 2);
    tcase_add_loop_test(t, killed, 0, 2);
    tcase_add_test(t, twice);
    tcase_add_test(t, refused);
    tcase_add_test(t, two_people);
    tcase_add_test(t, editor);
    suite_add_tcase(suite, t);
    return testing_main(suite);
}

/* orderctl top without a terminal: whole frames against those in tests/unit/top, hostile documents, words, keys.
 *
 * ORDERD_TOP_WRITE=1 writes the frames anew instead of comparing: look at what git diff says. */
#include "testing.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "../../src/program/top/layout.h"
#include "../../src/program/top/terminal.h"
#include "../../src/program/top/words.h"
#include "orderd/strbuf.h"

#define NOW INT64_C(1800000000000)

static struct top_past past;
static struct sale_view *sale;
static struct sale_history *history;

static void path_of(char *out, size_t size, const char *name)
{
    snprintf(out, size, "%s/tests/unit/top/%s", testing_env("ORDERD_SOURCE"), name);
}

/* "" where there is none. */
static void read_file(const char *name, struct strbuf *out)
{
    char path[512], bytes[4096];
    size_t n;
    FILE *f;

    path_of(path, sizeof path, name);
    strbuf_reset(out);
    f = fopen(path, "r");
    while (f && (n = fread(bytes, 1, sizeof bytes, f)) > 0)
        strbuf_add(out, bytes, n);
    if (f)
        fclose(f);
}

static void use_document(const char *text, size_t len)
{
    struct error err = {0};

    sale_view_destroy(&sale);
    sale = sale_view_parse(text, len, &err);
    ck_assert_ok(sale != NULL, &err);
}

static void use_file(const char *name)
{
    struct strbuf text = STRBUF_INIT;

    read_file(name, &text);
    use_document(text.data, text.len);
    strbuf_release(&text);
}

static void use_history(void)
{
    struct strbuf text = STRBUF_INIT;
    struct error err = {0};

    read_file("history.json", &text);
    history = sale_history_parse(text.data, text.len, &err);
    ck_assert_ok(history != NULL, &err);
    strbuf_release(&text);
}

/* A minute that rises, stands still, is unknown for a moment, and falls. */
static void setup(void)
{
    setlocale(LC_CTYPE, "C.UTF-8");
    past.count = 0;
    for (int i = 0; i < 60; i++) {
        past.created[i] = i >= 40 && i < 43 ? (double)NAN : (double)(i < 30 ? i : 60 - i) * 40;
        past.backlog[i] = i < 20 ? 0 : i * 14;
        past.count++;
    }
}

static void teardown(void)
{
    sale_view_destroy(&sale);
    sale_history_destroy(&history);
}

static struct top_state usual(void)
{
    return (struct top_state){
        .sale = sale, .history = history, .past = &past, .now = NOW, .interval_ms = 1000, .why = "", .live = true};
}

static void print(const struct frame *f, enum frame_style style, struct strbuf *out)
{
    strbuf_reset(out);
    for (int row = 0; row < f->height; row++) {
        frame_print_row(f, row, style, out);
        strbuf_add_char(out, '\n');
    }
}

static void print_frame(const struct top_state *s, int width, int height, bool utf8, enum frame_style style,
                        struct strbuf *out)
{
    struct frame *f = top_layout(s, width, height, utf8);

    ck_assert_int_eq(f->width, width);
    ck_assert(height == 0 || f->height == height);
    print(f, style, out);
    frame_destroy(&f);
}

/* ---- whole frames ---- */

static void compare(const char *name, const struct strbuf *text)
{
    struct strbuf expected = STRBUF_INIT;
    char path[512];

    if (getenv("ORDERD_TOP_WRITE")) {
        FILE *f;

        path_of(path, sizeof path, name);
        f = fopen(path, "w");
        ck_assert(f && fwrite(text->data, 1, text->len, f) == text->len && fclose(f) == 0);
        return;
    }
    read_file(name, &expected);
    ck_assert_msg(expected.data && strcmp(expected.data, text->data) == 0, "%s is not\n%s", name, text->data);
    strbuf_release(&expected);
}

static const struct {
    const char *document, *frame;
    int width, height;
    bool utf8;
} frames[] = {
    {"sale.json", "sale-80x24.txt", 80, 24, true},          {"sale.json", "sale-100x30.txt", 100, 30, true},
    {"sale.json", "sale-60x20.txt", 60, 20, true},          {"sale.json", "sale-132x43.txt", 132, 43, true},
    {"sale.json", "sale-ascii-100x40.txt", 100, 40, false}, {"trouble.json", "trouble-80x24.txt", 80, 24, true},
    {"trouble.json", "trouble-132x43.txt", 132, 43, true},  {"trouble.json", "trouble-40x10.txt", 40, 10, true},
    {"none.json", "none-80x24.txt", 80, 24, true},
};

START_TEST(whole_frames)
{
    struct strbuf text = STRBUF_INIT;
    struct top_state s;

    use_file(frames[_i].document);
    use_history();
    s = usual();
    print_frame(&s, frames[_i].width, frames[_i].height, frames[_i].utf8, FRAME_TEXT, &text);
    compare(frames[_i].frame, &text);
    strbuf_release(&text);
}
END_TEST

/* As `top --once` prints it: no keys, all that is known. */
START_TEST(frame_for_a_file)
{
    struct strbuf text = STRBUF_INIT;
    struct top_state s;

    use_file("sale.json");
    s = usual();
    s.live = false;
    s.activity = 1000;
    print_frame(&s, 80, 0, true, FRAME_TEXT, &text);
    compare("sale-once.txt", &text);
    strbuf_release(&text);
}
END_TEST

START_TEST(frame_of_help)
{
    struct strbuf text = STRBUF_INIT;
    struct frame *f = top_layout_help(80, 24, true);

    print(f, FRAME_TEXT, &text);
    compare("help-80x24.txt", &text);
    frame_destroy(&f);
    strbuf_release(&text);
}
END_TEST

/* ---- what must be seen ---- */

#define SEEN(text, what)     ck_assert_msg(strstr((text)->data, what) != NULL, "no \"%s\" in\n%s", what, (text)->data)
#define NOT_SEEN(text, what) ck_assert_msg(strstr((text)->data, what) == NULL, "\"%s\" in\n%s", what, (text)->data)

START_TEST(drift_alarms)
{
    struct strbuf text = STRBUF_INIT;
    struct top_state s;

    use_file("sale.json");
    s = usual();
    print_frame(&s, 80, 24, true, FRAME_COLOR, &text);
    SEEN(&text, "\033[0;32mdrift 0");
    NOT_SEEN(&text, "41m");
    use_file("trouble.json");
    s = usual();
    print_frame(&s, 80, 24, true, FRAME_COLOR, &text);
    SEEN(&text, "\033[0;1;37;41mdrift 46");
    SEEN(&text, "orderctl reconcile --activity 7");
    print_frame(&s, 80, 24, true, FRAME_MONO, &text);
    SEEN(&text, "\033[0;7mdrift 46");
    for (const char *p = text.data; (p = strchr(p, '\033')); p++) {
        size_t len = strcspn(p, "m");

        ck_assert_msg(strcspn(p, "34") > len, "a colour without colours: %.*s", (int)len, p + 1);
    }
    strbuf_release(&text);
}
END_TEST

START_TEST(silence_is_told)
{
    struct strbuf text = STRBUF_INIT;
    struct top_state s;

    use_file("sale.json");
    s = usual();
    s.away_ms = 12400;
    s.why = "no orderd answers at 127.0.0.1 port 9471: Connection refused";
    print_frame(&s, 80, 24, true, FRAME_TEXT, &text);
    SEEN(&text, "\n! (1 of 3) No numbers for 12s, trying on: no orderd answers");
    SEEN(&text, "Connection refused\n");
    s.away_ms = 0;
    s.old_ms = 65000;
    print_frame(&s, 80, 24, true, FRAME_TEXT, &text);
    SEEN(&text, "These numbers are 1m05s old");
    s.paused = true;
    print_frame(&s, 80, 24, true, FRAME_TEXT, &text);
    SEEN(&text, " PAUSED ");
    strbuf_release(&text);
}
END_TEST

START_TEST(unknown_is_a_dash)
{
    struct strbuf text = STRBUF_INIT;
    struct top_state s;

    use_file("trouble.json");
    s = usual();
    s.activity = 8;
    print_frame(&s, 80, 0, true, FRAME_TEXT, &text);
    SEEN(&text, "- of 1,000 left  -  -/s  sold out in -");
    SEEN(&text, "- unpaid  due soon -  overdue -  paid -  released -");
    SEEN(&text, "drift -  in flight -  reconciled -\n");
    SEEN(&text, "Redis: left -, held -, sold -, off -");
    SEEN(&text, "p50 -  p99 -");
    SEEN(&text, "- messages  done in -");
    SEEN(&text, "in the queue -");
    SEEN(&text, "redis -");
    SEEN(&text, "Activity 8: its drift is not known now");
    strbuf_release(&text);
}
END_TEST

/* What somebody types into a shell is ours, or it is not shown. */
START_TEST(commands_are_harmless)
{
    struct strbuf text = STRBUF_INIT;
    struct top_state s;

    use_file("trouble.json");
    s = usual();
    print_frame(&s, 132, 0, true, FRAME_TEXT, &text);
    SEEN(&text, "1        storm; rm -rf /\n");
    NOT_SEEN(&text, "--reason");
    strbuf_release(&text);
}
END_TEST

/* A number is shown whole or not at all: each that a narrow screen shows stands on a wide one too. */
START_TEST(no_number_is_cut)
{
    struct strbuf all = STRBUF_INIT, text = STRBUF_INIT;
    struct top_state s;

    use_file("sale.json");
    s = usual();
    print_frame(&s, 200, 0, true, FRAME_TEXT, &all);
    for (int width = 12; width <= 140; width += 3) {
        print_frame(&s, width, 24, true, FRAME_TEXT, &text);
        for (const char *p = text.data + strcspn(text.data, "0123456789"); *p; p += strcspn(p, "0123456789")) {
            size_t len = strspn(p, "0123456789,.");
            char number[64];

            snprintf(number, sizeof number, "%.*s", (int)len, p);
            p += len;
            if (strncmp(p, "\u2026", strlen("\u2026")) != 0) /* it says that there is more */
                ck_assert_msg(strstr(all.data, number) != NULL, "%s at %d columns\n%s", number, width, text.data);
        }
    }
    strbuf_release(&all);
    strbuf_release(&text);
}
END_TEST

/* ---- choosing ---- */

START_TEST(activities_in_order)
{
    struct top_state s;

    use_file("sale.json");
    s = usual();
    ck_assert_int_eq(sale->activities[0].id, 1001); /* running */
    ck_assert_int_eq(sale->activities[1].id, 1002); /* scheduled */
    ck_assert_int_eq(sale->activities[2].id, 1000); /* ended */
    ck_assert_int_eq(top_chosen(&s)->id, 1001);
    ck_assert_int_eq(top_step(&s, -1), 1001);
    ck_assert_int_eq(top_step(&s, 1), 1002);
    s.activity = 1000;
    ck_assert_int_eq(top_step(&s, 1), 1000);
    ck_assert_int_eq(top_step(&s, -1), 1002);
    s.activity = 4711; /* settled meanwhile */
    ck_assert(top_chosen(&s) == NULL);
    ck_assert_int_eq(top_step(&s, 1), 1001);
    ck_assert_int_eq(top_step(&s, -1), 1001);
    use_file("none.json");
    s = usual();
    ck_assert_int_eq(top_step(&s, 1), 0);
}
END_TEST

START_TEST(chosen_is_not_there)
{
    struct strbuf text = STRBUF_INIT;
    struct top_state s;

    use_file("sale.json");
    s = usual();
    s.activity = 4711;
    print_frame(&s, 80, 24, true, FRAME_TEXT, &text);
    SEEN(&text, "activity 4711 is not there: not approved yet, or settled");
    strbuf_release(&text);
}
END_TEST

/* Sixty activities on a low screen: the chosen one is always seen, and so are its neighbours. */
START_TEST(many_activities)
{
    struct strbuf json = STRBUF_INIT, text = STRBUF_INIT;
    struct top_state s;
    char line[64];

    strbuf_add_str(&json, "{\"v\":1,\"activities\":[");
    for (int id = 1; id <= 60; id++)
        strbuf_addf(&json, "%s{\"id\":%d,\"title\":\"item\",\"state\":\"running\",\"ends_at\":%d}", id > 1 ? "," : "",
                    id, id);
    strbuf_add_str(&json, "]}");
    use_document(json.data, json.len);
    s = usual();
    for (s.activity = 1; s.activity <= 60; s.activity += s.activity < 3 || s.activity > 57 ? 1 : 9) {
        print_frame(&s, 80, 24, true, FRAME_TEXT, &text);
        snprintf(line, sizeof line, "\n> %d item ", (int)s.activity);
        SEEN(&text, line);
        snprintf(line, sizeof line, "\n  %d item ", (int)(s.activity == 60 ? 59 : s.activity + 1));
        SEEN(&text, line);
    }
    strbuf_release(&json);
    strbuf_release(&text);
}
END_TEST

/* ---- documents that mean no good ---- */

static const char *const refused[] = {
    "",
    "null",
    "[]",
    "{}",
    "{\"v\":2,\"activities\":[]}",
    "{\"v\":\"1\",\"activities\":[]}",
    "{\"v\":1,\"activities\":{}}",
    "{\"v\":1}",
    "{\"v\":1,\"activities\":[",
    "{\"v\":1,\"activities\":[{\"id\":99999999999999999999999}]}",
    "{\"v\":1,\"activities\":[],\"rates\":{\"created\":1e999}}",
    "{\"v\":1,\"activities\":[],\"instance\":\"\xff\xfe\"}",
    "HTTP/1.1 200 OK",
};

START_TEST(refused_documents)
{
    struct error err = {0};

    ck_assert(sale_view_parse(refused[_i], strlen(refused[_i]), &err) == NULL);
    ck_assert_int_eq(err.code, ERROR_ADMIN_AWAY);
    ck_assert(err.text[0] != '\0');
    ck_assert(sale_history_parse(refused[_i], strlen(refused[_i]), &err) == NULL);
}
END_TEST

#define HUGE_NUMBER "9223372036854775807"
#define EVIL        "\\u001b[2J\\u001b]0;x\\u0007\\u0000\\r\\n\\u009b1m\\u202e\\u200d\\ud83d\\ude00\\u0301"

static const char *const hostile[] = {
    "{\"v\":1,\"activities\":[]}",
    "{\"v\":1,\"activities\":[{}],\"replicas\":[{}],\"queues\":[{}],\"dependencies\":[{}],\"dead_letters\":{\"by_"
    "reason\":"
    "[{}]}}",
    "{\"v\":1,\"activities\":[null,1,\"x\",[],{}],\"replicas\":7,\"queues\":{},\"dependencies\":\"x\",\"dead_letters\":"
    "[],"
    "\"relay\":null,\"latency\":1,\"backlog\":[],\"rates\":\"fast\",\"at\":\"now\",\"interval_ms\":null,\"instance\":[]"
    "}",
    "{\"v\":1,\"at\":-5,\"activities\":[{\"id\":-1,\"title\":5,\"state\":7,\"starts_at\":\"x\",\"ends_at\":-1,"
    "\"total\":-7,"
    "\"left\":-3,\"rate\":-1,\"sold_out_s\":-1,\"shards\":[],\"conservation\":null,\"reconcile\":0}]}",
    "{\"v\":1,\"at\":" HUGE_NUMBER ",\"interval_ms\":" HUGE_NUMBER ",\"activities\":[{\"id\":" HUGE_NUMBER
    ",\"state\":\"running\",\"starts_at\":" HUGE_NUMBER ",\"ends_at\":" HUGE_NUMBER ",\"total\":" HUGE_NUMBER
    ",\"left\":" HUGE_NUMBER ",\"rate\":1e300,\"sold_out_s\":1e18,\"held_unpaid\":" HUGE_NUMBER
    ",\"overdue\":" HUGE_NUMBER ",\"shards\":{\"missing\":" HUGE_NUMBER ",\"damaged\":" HUGE_NUMBER
    "},\"conservation\":{\"drift\":-9223372036854775808,\"left\":" HUGE_NUMBER "},\"reconcile\":{\"at\":1,\"verdict\":"
    "\"broken\"}}],\"relay\":{\"oldest_ms\":" HUGE_NUMBER ",\"pending\":8e18},\"latency\":{\"p50_us\":" HUGE_NUMBER
    ",\"p99_us\":8e18},\"backlog\":{\"messages\":" HUGE_NUMBER ",\"drain_s\":1e18},\"rates\":{\"created\":8e18},"
    "\"replicas\":[{\"state\":\"lost\",\"seen_at\":0,\"started_at\":" HUGE_NUMBER "}]}",
    "{\"v\":1,\"instance\":\"" EVIL "\",\"activities\":[{\"id\":1,\"title\":\"" EVIL "\",\"state\":\"" EVIL
    "\",\"reconcile\":{\"at\":1,\"verdict\":\"" EVIL "\"}}],\"replicas\":[{\"instance\":\"" EVIL "\",\"state\":\"" EVIL
    "\",\"why\":\"" EVIL "\",\"host\":\"" EVIL "\"},{\"state\":\"not_ready\",\"why\":\"" EVIL
    "\"}],\"queues\":[{\"name\":\"" EVIL "\",\"ready\":3}],\"dependencies\":[{\"name\":\"" EVIL
    "\",\"up\":false,\"why\":\"" EVIL "\"}],\"dead_letters\":{\"open\":1,\"by_reason\":[{\"reason\":\"" EVIL
    "\",\"command\":\"" EVIL "\"},{\"reason\":\"x\",\"command\":\"orderctl dlq list " EVIL "\"}]}}",
};

/* Rows as wide as the screen at most, and of characters that only stand there. */
static void check_harmless(const char *text, int width, bool utf8)
{
    mbstate_t state = {0};
    size_t len, left = strlen(text);
    int columns = 0;
    wchar_t c;

    for (; left > 0; text += len, left -= len) {
        len = mbrtowc(&c, text, left, &state);
        ck_assert_msg(len > 0 && len <= left, "no character");
        ck_assert_msg(c == L'\n' || wcwidth(c) > 0, "U+%04X", (unsigned)c);
        ck_assert(utf8 || c < 0x80);
        columns = c == L'\n' ? 0 : columns + wcwidth(c);
        ck_assert_int_le(columns, width);
    }
}

static void check_at_all_sizes(void)
{
    static const int widths[] = {1, 2, 9, 20, 41, 80, 133}, heights[] = {0, 1, 5, 24, 60};
    struct strbuf text = STRBUF_INIT;
    struct top_state s = usual();

    s.now = sale->at;
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        for (size_t h = 0; h < sizeof heights / sizeof *heights; h++) {
            for (int utf8 = 0; utf8 < 2; utf8++) {
                print_frame(&s, widths[w], heights[h], utf8, FRAME_TEXT, &text);
                check_harmless(text.data, widths[w], utf8);
            }
        }
    }
    strbuf_release(&text);
}

START_TEST(hostile_documents)
{
    use_history();
    use_document(hostile[_i], strlen(hostile[_i]));
    check_at_all_sizes();
}
END_TEST

START_TEST(wide_title)
{
    struct strbuf json = STRBUF_INIT;

    strbuf_add_str(&json, "{\"v\":1,\"activities\":[{\"id\":1,\"state\":\"running\",\"title\":\"");
    for (int i = 0; i < 200; i++)
        strbuf_add_str(&json, i % 3 ? "\u9650" : "e\u0301");
    strbuf_add_str(&json,
                   "\"},{\"id\":2,\"title\":\"\u9650\u65f6\u62a2\u8d2d\u9650\u65f6\u62a2\u8d2d\u9650\u65f6\"}]}");
    use_document(json.data, json.len);
    check_at_all_sizes();
    strbuf_release(&json);
}
END_TEST

START_TEST(hostile_history)
{
    static const char *const list[] = {
        "{\"points\":[]}",
        "{\"points\":[null,{},{\"at\":\"x\",\"activities\":{}},{\"at\":5,\"activities\":[7,{\"id\":1001,\"left\":-4}]}]"
        "}",
        "{\"points\":[{\"at\":" HUGE_NUMBER ",\"activities\":[{\"id\":1001,\"left\":" HUGE_NUMBER "}]},{\"at\":1,"
        "\"activities\":[{\"id\":1001,\"left\":8e18}]}]}",
    };
    struct error err = {0};

    use_file("sale.json");
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        sale_history_destroy(&history);
        history = sale_history_parse(list[i], strlen(list[i]), &err);
        ck_assert_ok(history != NULL, &err);
        check_at_all_sizes();
    }
}
END_TEST

/* ---- words ---- */

START_TEST(words)
{
    char w[WORD_MAX];

    ck_assert_str_eq(word_count(w, 0), "0");
    ck_assert_str_eq(word_count(w, 999), "999");
    ck_assert_str_eq(word_count(w, 1000), "1,000");
    ck_assert_str_eq(word_count(w, -1234567), "-1,234,567");
    ck_assert_str_eq(word_count(w, INT64_C(9999999999)), "9,999,999,999");
    ck_assert_str_eq(word_count(w, INT64_C(12345678901)), "12.3G");
    ck_assert_str_eq(word_count(w, INT64_MAX), "9.2E");
    ck_assert_str_eq(word_count(w, SALE_UNKNOWN), "-");
    ck_assert_str_eq(word_rate(w, 0), "0");
    ck_assert_str_eq(word_rate(w, 0.44), "0.4");
    ck_assert_str_eq(word_rate(w, 1234.5), "1,235");
    ck_assert_str_eq(word_rate(w, NAN), "-");
    ck_assert_str_eq(word_us(w, 840), "0.8 ms");
    ck_assert_str_eq(word_us(w, 120400), "120 ms");
    ck_assert_str_eq(word_us(w, 1234567), "1.2 s");
    ck_assert_str_eq(word_us(w, INT64_C(90) * 1000000), "1m30s");
    ck_assert_str_eq(word_us(w, SALE_UNKNOWN), "-");
    ck_assert_str_eq(word_clock(w, 59999), "59s");
    ck_assert_str_eq(word_clock(w, 3552000), "59m12s");
    ck_assert_str_eq(word_clock(w, 7500000), "2h05m");
    ck_assert_str_eq(word_clock(w, INT64_C(273600000)), "3d04h");
    ck_assert_str_eq(word_clock(w, -1), "0s");
    ck_assert_str_eq(word_seconds(w, 0), "0s");
    ck_assert_str_eq(word_seconds(w, 0.66), "0.7s");
    ck_assert_str_eq(word_seconds(w, 33.3), "33s");
    ck_assert_str_eq(word_seconds(w, NAN), "-");
    ck_assert_str_eq(word_percent(w, 1, 1000), "<1 %");
    ck_assert_str_eq(word_percent(w, 999, 1000), ">99 %");
    ck_assert_str_eq(word_percent(w, 1000, 1000), "100 %");
    ck_assert_str_eq(word_percent(w, 0, 1000), "0 %");
    ck_assert_str_eq(word_percent(w, 5, 0), "-");
}
END_TEST

/* ---- keys ---- */

START_TEST(keys)
{
    static const struct {
        const char *bytes;
        enum terminal_key key;
    } list[] = {
        {"q", KEY_QUIT},  {"Q", KEY_QUIT},          {"?", KEY_HELP},      {"p", KEY_PAUSE},
        {" ", KEY_PAUSE}, {"\033[A", KEY_UP},       {"\033OB", KEY_DOWN}, {"\033[1;5A", KEY_UP},
        {"k", KEY_UP},    {"j", KEY_DOWN},          {"\f", KEY_REDRAW},   {"\033[5~", KEY_OTHER},
        {"x", KEY_OTHER}, {"\033\033[B", KEY_DOWN}, {"\033[", KEY_NONE},  {"\033q", KEY_QUIT},
    };

    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct keyboard k = {0};
        enum terminal_key key = KEY_NONE;

        for (const char *p = list[i].bytes; *p; p++) {
            ck_assert_int_eq(key, KEY_NONE);
            key = keyboard_take(&k, (unsigned char)*p);
        }
        ck_assert_msg(key == list[i].key, "row %zu: %d", i, (int)key);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("top");
    TCase *c = tcase_create("frames");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, whole_frames, 0, sizeof frames / sizeof *frames);
    tcase_add_test(c, frame_for_a_file);
    tcase_add_test(c, frame_of_help);
    tcase_add_test(c, drift_alarms);
    tcase_add_test(c, silence_is_told);
    tcase_add_test(c, unknown_is_a_dash);
    tcase_add_test(c, commands_are_harmless);
    tcase_add_test(c, no_number_is_cut);
    tcase_add_test(c, activities_in_order);
    tcase_add_test(c, chosen_is_not_there);
    tcase_add_test(c, many_activities);
    tcase_add_loop_test(c, refused_documents, 0, sizeof refused / sizeof *refused);
    tcase_add_loop_test(c, hostile_documents, 0, sizeof hostile / sizeof *hostile);
    tcase_add_test(c, wide_title);
    tcase_add_test(c, hostile_history);
    tcase_add_test(c, words);
    tcase_add_test(c, keys);
    suite_add_tcase(suite, c);
    return testing_main(suite);
}

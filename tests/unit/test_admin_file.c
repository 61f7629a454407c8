/* The files of the live page as the admin endpoint serves them, and the headers that guard every answer. */
#include "testing_http.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orderd/admin.h"
#include "orderd/survey_board.h"

static const struct {
    const char *path, *type, *file;
} files[] = {
#define X(name, path, type, file) {path, type, file},
#include "orderd/tbl/admin_file.h"
#undef X
};

#define FILES ((int)(sizeof files / sizeof *files))

static struct admin *admin;
static struct survey_board *board;
static int port;
static struct testing_reply answer;

static void collect(void *arg, struct admin_view *view)
{
    (void)arg;
    view->instance = "1";
    view->phase = ADMIN_RUNNING;
    view->board = board;
}

static void serve(void)
{
    struct conf conf = {.admin_host = "127.0.0.1"};
    struct error err = {0};

    board = survey_board_create();
    port = testing_free_port();
    conf.admin_port = port;
    admin = admin_start(&conf, "", collect, NULL, &err);
    ck_assert_ok(admin != NULL, &err);
}

static void end(void)
{
    admin_stop(&admin);
    survey_board_destroy(&board);
}

/* GET with one header more, "" for none. */
static void get(const char *path, const char *header)
{
    char request[512];
    int len = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", path, header);

    testing_http_raw(port, request, (size_t)len, &answer);
}

static const char *folder(void)
{
    static char path[4096];

    snprintf(path, sizeof path, "%s/src/program/admin/page", testing_env("ORDERD_SOURCE"));
    return path;
}

/* The text of that file, which the caller frees. */
static char *content(const char *file)
{
    char path[5000], *text = check_calloc(1, sizeof answer.body);
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", folder(), file);
    f = fopen(path, "re");
    ck_assert_msg(f != NULL, "%s", path);
    ck_assert_uint_lt(fread(text, 1, sizeof answer.body - 1, f), sizeof answer.body - 1);
    fclose(f);
    return text;
}

/* The value of a header, valid until the next call; fails where it is not there exactly once. */
static const char *header(const char *name)
{
    static char value[1024];
    char mark[128];
    const char *at;

    snprintf(mark, sizeof mark, "\r\n%s: ", name);
    at = strstr(answer.head, mark);
    ck_assert_msg(at != NULL, "%s is not in %s", name, answer.head);
    at += strlen(mark);
    ck_assert_msg(strstr(at, mark) == NULL, "%s comes twice", name);
    snprintf(value, sizeof value, "%.*s", (int)strcspn(at, "\r\n"), at);
    return value;
}

START_TEST(each_is_served)
{
    char *text = content(files[_i].file), etag[64], again[128];

    get(files[_i].path, "");
    ck_assert_int_eq(answer.status, 200);
    ck_assert_str_eq(answer.body, text);
    ck_assert_str_eq(header("Content-Type"), files[_i].type);
    ck_assert_str_eq(header("Cache-Control"), "no-cache");
    snprintf(etag, sizeof etag, "%s", header("ETag"));
    ck_assert_msg(strlen(etag) == 18 && etag[0] == '"' && etag[17] == '"', "%s", etag);

    snprintf(again, sizeof again, "If-None-Match: \"old\", W/%s\r\n", etag);
    get(files[_i].path, again);
    ck_assert_int_eq(answer.status, 304);
    ck_assert_str_eq(answer.body, "");
    ck_assert_str_eq(header("ETag"), etag);
    get(files[_i].path, "If-None-Match: \"0123456789abcdef\"\r\n");
    ck_assert_int_eq(answer.status, 200);
    get(files[_i].path, "If-None-Match: *\r\n");
    ck_assert_int_eq(answer.status, 304);

    testing_http(port, "HEAD", files[_i].path, &answer);
    ck_assert_int_eq(answer.status, 200);
    ck_assert_str_eq(answer.body, "");
    ck_assert_int_eq(atoi(header("Content-Length")), (int)strlen(text));
    testing_http(port, "POST", files[_i].path, &answer);
    ck_assert_int_eq(answer.status, 405);
    ck_assert_str_eq(header("Allow"), "GET, HEAD");
    free(text);
}
END_TEST

/* Each has a tag of its own. */
START_TEST(tags_differ)
{
    char seen[FILES][64];

    for (int i = 0; i < FILES; i++) {
        get(files[i].path, "");
        snprintf(seen[i], sizeof seen[i], "%s", header("ETag"));
        for (int j = 0; j < i; j++)
            ck_assert_str_ne(seen[i], seen[j]);
    }
}
END_TEST

START_TEST(nothing_else)
{
    static const char *const paths[] = {"/index.html",    "/page",           "/page/",
                                        "/page/main.jsx", "/page/main.js/",  "/page/../page/main.js",
                                        "/page/embed.c",  "/page%2fmain.js", "/favicon.ico"};

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        get(paths[i], "");
        ck_assert_msg(answer.status == 404, "%s: %d", paths[i], answer.status);
    }
    get("/?x=y", "");
    ck_assert_int_eq(answer.status, 200);
}
END_TEST

/* Those that the folder has and those of the table are the same. */
START_TEST(none_is_left_out)
{
    DIR *dir = opendir(folder());
    int count = 0;

    ck_assert(dir != NULL);
    for (struct dirent *entry; (entry = readdir(dir));) {
        bool known = entry->d_name[0] == '.';

        for (int i = 0; i < FILES && !known; i++)
            known = strcmp(files[i].file, entry->d_name) == 0;
        ck_assert_msg(known, "%s has no row in tbl/admin_file.h", entry->d_name);
        count += entry->d_name[0] != '.';
    }
    closedir(dir);
    ck_assert_int_eq(count, FILES);
}
END_TEST

/* Whatever is asked, and however: so that even an error message is never taken for a page. */
START_TEST(every_answer_is_guarded)
{
    static const struct {
        const char *method, *path;
    } asked[] = {{"GET", "/"},        {"GET", "/page/main.js"}, {"HEAD", "/"}, {"GET", "/status"},
                 {"GET", "/metrics"}, {"GET", "/readyz"},       {"POST", "/"}, {"GET", "/none"}};

    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        const char *policy;

        testing_http(port, asked[i].method, asked[i].path, &answer);
        ck_assert_str_eq(header("X-Content-Type-Options"), "nosniff");
        ck_assert_str_eq(header("X-Frame-Options"), "DENY");
        ck_assert_str_eq(header("Referrer-Policy"), "no-referrer");
        ck_assert_str_eq(header("Cross-Origin-Resource-Policy"), "same-origin");
        ck_assert_str_eq(header("Connection"), "close");
        if (strncmp(asked[i].path, "/page/", 6) != 0 && strcmp(asked[i].path, "/") != 0)
            ck_assert_str_eq(header("Cache-Control"), "no-store");
        policy = header("Content-Security-Policy");
        ck_assert(strncmp(policy, "default-src 'none'; ", 20) == 0);
        ck_assert(strstr(policy, "script-src 'self';") && strstr(policy, "frame-ancestors 'none'"));
        ck_assert(strstr(policy, "require-trusted-types-for 'script'") != NULL);
        ck_assert(!strstr(policy, "unsafe") && !strchr(policy, '*') && !strstr(policy, "http") &&
                  !strstr(policy, "data:"));
    }
}
END_TEST

/* No other origin is named, and nothing would need what the policy refuses. */
START_TEST(they_keep_to_themselves)
{
    static const char *const words[] = {
        "https:", "//cdn",     "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(",
        "style=", " onclick=", " onload=",  "<style",    "javascript:",        "localStorage",   "cookie"};
    char *text = content(files[_i].file);

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        ck_assert_msg(strstr(text, words[i]) == NULL, "%s has %s", files[_i].file, words[i]);
    for (const char *at = text; (at = strstr(at, "http:")); at++)
        ck_assert_msg(strncmp(at, "http://www.w3.org/2000/svg", 26) == 0, "%s: %.40s", files[_i].file, at);
    free(text);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("admin_file");
    TCase *c = tcase_create("files");

    tcase_add_checked_fixture(c, serve, end);
    tcase_add_loop_test(c, each_is_served, 0, FILES);
    tcase_add_loop_test(c, they_keep_to_themselves, 0, FILES);
    tcase_add_test(c, tags_differ);
    tcase_add_test(c, nothing_else);
    tcase_add_test(c, none_is_left_out);
    tcase_add_test(c, every_answer_is_guarded);
    suite_add_tcase(s, c);
    return testing_main(s);
}

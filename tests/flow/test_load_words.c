/* What orderload says to who has not prepared it: each sentence names what to do. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testing_load.h"

/* Runs orderload; it ends with this code, and says each of these (NULL ends them). */
static void says(int expected, const char *words, ...)
{
    char line[512], text[2048];
    const char *part;
    size_t len;
    FILE *out;
    va_list ap;
    int status;

    snprintf(line, sizeof line, "%s -c %s --activity %" PRId64 " --wait 0 %s 2>&1", scene_program("orderload"),
             scene.conf_file, scene.activity, words);
    out = popen(line, "r"); /* NOLINT(cert-env33-c): a test's own words */
    ck_assert(out != NULL);
    len = fread(text, 1, sizeof text - 1, out);
    text[len] = '\0';
    status = pclose(out);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == expected, "status %d: %s", status, text);
    va_start(ap, words);
    while ((part = va_arg(ap, const char *)) != NULL)
        ck_assert_msg(strstr(text, part) != NULL, "\"%s\" is not in: %s", part, text);
    va_end(ap);
}

/* The configuration with another database, and account; its password is in a file beside it. */
static void other_account(const char *database, const char *user)
{
    FILE *f = fopen(scene.conf_file, "w");

    ck_assert(f != NULL);
    fprintf(f, "mysql: { host = \"%s\"; port = %s; user = \"%s\"; password_file = \"%s\"; database = \"%s\"; };\n",
            testing_env("ORDERD_DB_HOST"), testing_env("ORDERD_DB_PORT"), user,
            strcmp(user, testing_env("ORDERD_DB_USER")) == 0 ? testing_env("ORDERD_DB_PASSWORD_FILE") : scene.ids_file,
            database);
    fclose(f);
}

START_TEST(without_a_schema_it_says_migrate)
{
    scene_sql("CREATE DATABASE IF NOT EXISTS orderd_load_bare");
    other_account("orderd_load_bare", testing_env("ORDERD_DB_USER"));
    says(78, "sale", "orderload: reading activity ", "migrations are not applied: run `orderctl migrate up`", NULL);
    says(78, "verify --ids /dev/null", "run `orderctl migrate up`", NULL);
}
END_TEST

START_TEST(before_approval_it_says_approve)
{
    scene_sell(10, 1, false);
    says(65, "sale", "is not on sale: run `orderctl activity preheat`", NULL);
    scene_sql("UPDATE activity SET state='review' WHERE id=%" PRId64, scene.activity);
    says(65, "sale", "is in review: run `orderctl activity approve`, then `orderctl activity preheat`", NULL);
    says(65, "rate --rate 1 --seconds 1", "takes no orders: run `orderctl activity approve`", NULL);
}
END_TEST

START_TEST(an_account_without_rights_says_whose_has_them)
{
    char user[64];
    FILE *f = fopen(scene.ids_file, "w");

    ck_assert(f != NULL);
    fputs("secret", f);
    fclose(f);
    snprintf(user, sizeof user, "poor_%d", (int)getpid());
    testing_administer("CREATE USER %s@'127.0.0.1' IDENTIFIED BY 'secret'", user);
    other_account(testing_env("ORDERD_DB_NAME"), user);
    says(78, "sale", "(error 1044", "run it with the daemon's configuration (-c)", "docs/servers.md", NULL);
    testing_administer("GRANT CREATE ON orderd_load.* TO %s@'127.0.0.1'", user);
    other_account("orderd_load", user);
    says(78, "sale", "command denied", "run it with the daemon's configuration (-c)", NULL);
    testing_administer("DROP USER %s@'127.0.0.1'", user);
}
END_TEST

START_TEST(a_wrong_rate_is_explained_in_words)
{
    says(64, "sale --rate fast", "--rate cannot be \"fast\" (expected a number a second, or max)", NULL);
    says(64, "rate --seconds 1 --rate fast", "(expected a number a second)", NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("load_words");
    TCase *t = tcase_create("load_words");

    tcase_add_checked_fixture(t, scene_setup, scene_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, without_a_schema_it_says_migrate);
    tcase_add_test(t, before_approval_it_says_approve);
    tcase_add_test(t, an_account_without_rights_says_whose_has_them);
    tcase_add_test(t, a_wrong_rate_is_explained_in_words);
    suite_add_tcase(suite, t);
    return testing_main(suite);
}

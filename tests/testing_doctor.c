#include "testing_doctor.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void testing_doctor_setup(void)
{
    testing_ctl_setup();
    ck_assert_int_eq(chmod(testing_ctl_file, 0600), 0);
    CTL("migrate", "up");
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
}

struct doctor_heard doctor_hear(const char *check, const char *subject)
{
    struct doctor_heard h = {0};
    char *save = NULL, *out = check_strdup(testing_ctl.out);

    for (char *line = strtok_r(out, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        json_t *o = json_loads(line, 0, NULL);
        const char *verdict = json_string_value(json_object_get(o, "verdict"));
        const char *about = json_string_value(json_object_get(o, "subject"));
        bool wrong;

        ck_assert_msg(verdict != NULL, "%s", line);
        ck_assert(strcmp(verdict, "ok") != 0 || json_is_null(json_object_get(o, "advice")));
        wrong = strcmp(verdict, "ok") != 0 && strcmp(verdict, "look") != 0;
        h.lines++;
        h.wrong += wrong;
        if (strcmp(json_string_value(json_object_get(o, "check")), check) == 0 &&
            (!subject || (about && strcmp(subject, about) == 0)) && (wrong || !h.verdict[0])) {
            snprintf(h.verdict, sizeof h.verdict, "%s", verdict);
            snprintf(h.finding, sizeof h.finding, "%s", json_string_value(json_object_get(o, "finding")));
            about = json_string_value(json_object_get(o, "advice"));
            snprintf(h.advice, sizeof h.advice, "%s", about ? about : "");
        }
        json_decref(o);
    }
    free(out);
    return h;
}

void doctor_run(enum exitcode code)
{
    CTL("-q", "doctor", "--json");
    ck_assert_str_eq(testing_ctl.err, "");
    ck_assert_msg(testing_ctl.code == (int)code, "ended with %d and not %d:\n%s", testing_ctl.code, code,
                  testing_ctl.out);
}

void doctor_only(const char *check, const char *subject, const char *verdict, const char *finding)
{
    struct doctor_heard h;

    doctor_run(strcmp(verdict, "problem") == 0 ? EXIT_FAILED : EXIT_OK);
    h = doctor_hear(check, subject);
    ck_assert_msg(strcmp(h.verdict, verdict) == 0, "%s is \"%s\":\n%s", check, h.verdict, testing_ctl.out);
    ck_assert_msg(strstr(h.finding, finding) != NULL, "%s says: %s", check, h.finding);
    ck_assert_msg(h.wrong == 1, "%u findings:\n%s", h.wrong, testing_ctl.out);
}

void doctor_all_good(void)
{
    struct doctor_heard h;

    doctor_run(EXIT_OK);
    h = doctor_hear("mysql.schema", NULL);
    ck_assert_str_eq(h.verdict, "ok");
    ck_assert_msg(h.wrong == 0, "%s", testing_ctl.out);
    ck_assert_uint_gt(h.lines, 21);
}

void doctor_write_secret(const char *user, char path[128])
{
    FILE *f;

    snprintf(path, 128, "/tmp/%s.pw", user);
    f = fopen(path, "w");
    ck_assert(f != NULL);
    fprintf(f, "secret\n");
    fclose(f);
    chmod(path, 0400);
}

unsigned doctor_times(const char *text, const char *words)
{
    unsigned count = 0;

    for (const char *at = strstr(text, words); at; at = strstr(at + 1, words))
        count++;
    return count;
}

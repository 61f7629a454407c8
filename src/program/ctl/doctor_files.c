/* orderctl doctor: who may read and write the configuration and its secrets. */
#include "doctor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "orderd/clock.h"
#include "orderd/tls.h"

enum doctor_verdict doctor_judge_mode(mode_t mode, bool secret, const char **why)
{
    if (mode & (S_IWGRP | S_IWOTH)) {
        *why = "more than its owner may write it";
        return DOCTOR_PROBLEM;
    }
    if (secret && mode & S_IROTH) {
        *why = "everybody may read it";
        return DOCTOR_PROBLEM;
    }
    if (secret && mode & S_IRGRP) {
        *why = "its group may read it";
        return DOCTOR_WARNING;
    }
    *why = secret ? "only its owner may read it" : "only its owner may write it";
    return DOCTOR_OK;
}

/* false: it is not there, which is told. */
static bool look(struct doctor *d, enum doctor_check check, const char *path)
{
    struct stat st;
    const char *why;
    enum doctor_verdict verdict;

    if (stat(path, &st) != 0) {
        doctor_tell(d, DOCTOR_PROBLEM, check, path, "%s", strerror(errno));
        return false;
    }
    verdict = doctor_judge_mode(st.st_mode, check == DOCTOR_CONFIG_SECRET, &why);
    doctor_tell(d, verdict, check, path, "mode %04o, %s", (unsigned)st.st_mode & 07777U, why);
    return true;
}

/* Authorities come and go; one that is still valid will do. */
static void look_at_end(struct doctor *d, const char *path, bool authorities)
{
    int64_t first_s, last_s, until_s;
    char day[16];

    if (!tls_file_until(path, &first_s, &last_s)) {
        doctor_tell(d, DOCTOR_PROBLEM, DOCTOR_CONFIG_CERTIFICATE, path, "it holds no certificate in PEM");
        return;
    }
    until_s = authorities ? last_s : first_s;
    doctor_day(until_s, day);
    doctor_tell(d, doctor_judge_until(until_s, clock_wall_ms() / 1000), DOCTOR_CONFIG_CERTIFICATE, path,
                "what it holds is valid until %s", day);
}

static void look_at_named(void *arg, const struct conf_setting *s)
{
    if (s->secret_path)
        (void)look(arg, DOCTOR_CONFIG_SECRET, s->secret_path);
    if (s->file_path && look(arg, DOCTOR_CONFIG_CERTIFICATE, s->file_path))
        look_at_end(arg, s->file_path, strcmp(s->name, "tls_ca_file") == 0);
}

static void look_at_config(void *arg, const char *path)
{
    (void)look(arg, DOCTOR_CONFIG_FILE, path);
}

void doctor_files(struct doctor *d)
{
    conf_each_file(d->ctl->conf, look_at_config, d);
    conf_each(d->ctl->conf, look_at_named, d);
}

/* orderctl doctor: who may read and write the configuration and its secrets. */
#include "doctor.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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

static void look(struct doctor *d, enum doctor_check check, const char *path)
{
    struct stat st;
    const char *why;
    enum doctor_verdict verdict;

    if (stat(path, &st) != 0) {
        doctor_tell(d, DOCTOR_PROBLEM, check, path, "%s", strerror(errno));
        return;
    }
    verdict = doctor_judge_mode(st.st_mode, check == DOCTOR_CONFIG_SECRET, &why);
    doctor_tell(d, verdict, check, path, "mode %04o, %s", (unsigned)st.st_mode & 07777U, why);
}

static void look_at_secret(void *arg, const struct conf_setting *s)
{
    if (s->secret_path)
        look(arg, DOCTOR_CONFIG_SECRET, s->secret_path);
}

void doctor_files(struct doctor *d)
{
    look(d, DOCTOR_CONFIG_FILE, d->ctl->conf_path);
    conf_each(d->ctl->conf, look_at_secret, d);
}

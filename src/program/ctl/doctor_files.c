/* orderctl doctor: who may read and write the configuration and its secrets, and who may see the live page. */
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

/* Several keys may name one file, and one file may be included twice. */
struct files {
    struct doctor *d;
    struct strbuf told; /* a line for each: what it is looked at as, and its name */
};

static bool told_before(struct files *files, const char *as, const char *path)
{
    struct strbuf line = STRBUF_INIT;
    bool told;

    strbuf_addf(&line, "\n%s %s\n", as, path);
    told = files->told.data && strstr(files->told.data, line.data);
    if (!told)
        strbuf_add_str(&files->told, line.data);
    strbuf_release(&line);
    return told;
}

static void look_at_named(void *arg, const struct conf_setting *s)
{
    struct files *files = arg;
    bool authorities = strcmp(s->name, "tls_ca_file") == 0;

    if (s->secret_path && !told_before(files, "secret", s->secret_path))
        (void)look(files->d, DOCTOR_CONFIG_SECRET, s->secret_path);
    if (s->file_path && !told_before(files, authorities ? "authorities" : "certificate", s->file_path) &&
        look(files->d, DOCTOR_CONFIG_CERTIFICATE, s->file_path))
        look_at_end(files->d, s->file_path, authorities);
}

static void look_at_config(void *arg, const char *path)
{
    struct files *files = arg;

    if (!told_before(files, "configuration", path))
        (void)look(files->d, DOCTOR_CONFIG_FILE, path);
}

/* Sales, numbers of orders and the names of machines are to be seen there. */
static void look_at_page(struct doctor *d)
{
    const struct conf *conf = d->ctl->conf;
    bool here = doctor_is_here(conf->admin_host);

    if (conf->admin_enabled)
        doctor_tell(d, here ? DOCTOR_OK : DOCTOR_LOOK, DOCTOR_ADMIN_HOST, NULL,
                    here ? "the live page is on %s, within this machine"
                         : "the live page is on %s, and asks nobody who they are",
                    conf->admin_host);
}

void doctor_files(struct doctor *d)
{
    struct files files = {d, STRBUF_INIT};

    conf_each_file(d->ctl->conf, look_at_config, &files);
    conf_each(d->ctl->conf, look_at_named, &files);
    strbuf_release(&files.told);
    look_at_page(d);
}

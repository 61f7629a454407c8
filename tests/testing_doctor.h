/* orderctl doctor, run against the private servers and listened to. */
#ifndef ORDERD_TESTING_DOCTOR_H
#define ORDERD_TESTING_DOCTOR_H

#include "orderd/exitcode.h"
#include "testing_ctl.h"

/* Fixture: an empty schema with all tables, and a configuration that only its owner may read. testing_ctl_teardown is
 * the other way. */
void testing_doctor_setup(void);

struct doctor_heard {
    unsigned lines, wrong; /* wrong: neither ok nor look */
    char verdict[16], finding[512], advice[256];
};

/* The lines of the last run; verdict, finding and advice of the one of this check (and subject, unless NULL) that is
 * worst, or "". */
struct doctor_heard doctor_hear(const char *check, const char *subject);

/* Runs it, for JSON: it ends with this code and says nothing on standard error. */
void doctor_run(enum exitcode code);

/* Runs it. One planted fault: its check alone, and nothing else, has this verdict, and says this among other words. */
void doctor_only(const char *check, const char *subject, const char *verdict, const char *finding);
void doctor_all_good(void);

/* A file with the password "secret" that is this account's. The caller removes it. */
void doctor_write_secret(const char *user, char path[128]);

/* How often the words are in the text. */
unsigned doctor_times(const char *text, const char *words);

#endif

#include "testing.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orderd/clock.h"

/* Check's own limit, 4 s for a test that sets none, is met now and then on a machine with other work; a test that hangs
 * is found by a longer one as well. Before main, since test cases read it when they are made. */
__attribute__((constructor)) static void allow_for_slow_machines(void)
{
    setenv("CK_DEFAULT_TIMEOUT", "30", 0);
    setenv("CK_TIMEOUT_MULTIPLIER", "2", 0);
}

static char folder[] = "/tmp/orderd_test.XXXXXX";

const char *testing_dir(void)
{
    return folder;
}

static void remove_folder(void)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;

    while (dir && (entry = readdir(dir)))
        unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
    rmdir(folder);
}

/* Check ends the process without a word where an unchecked teardown fails, and all results with it. */
static pid_t unfinished;

static void tell_of_early_end(void)
{
    if (getpid() == unfinished)
        fprintf(stderr, "the suite ended early: what a test case does after its tests failed; CK_FORK=no shows it\n");
}

int testing_main(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    int failed;

    CHECK(mkdtemp(folder) != NULL);
    unfinished = getpid();
    CHECK(atexit(tell_of_early_end) == 0);
    srunner_run_all(runner, CK_ENV);
    unfinished = 0;
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    remove_folder();
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

int64_t testing_now_ms(void)
{
    return clock_mono_ms();
}

void testing_pause(void)
{
    clock_sleep_ms(10);
}

const char *testing_name(const char *prefix)
{
    static char names[8][64];
    static unsigned n;
    char *name = names[n % 8];

    /* A process id alone may come again within one run. */
    snprintf(name, sizeof names[0], "%s_%d_%x_%u", prefix, (int)getpid(), (unsigned)clock_mono_ms(), n++);
    return name;
}

void testing_run_sql(struct db *db, const char *sql, struct error *err)
{
    bool alone = strchr(sql, ';') == NULL; /* of several, the ones before the victim may have been committed */

    for (int tries = 1; !db_run(db, slice_of(sql), err); tries++) {
        db_rollback(db);
        if (err->code != ERROR_DB_CONFLICT || !alone || tries == 10)
            return;
        error_clear(err);
    }
}

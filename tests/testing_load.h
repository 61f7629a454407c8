/* One scene for tests of orderload: an own activity, queue, folder and daemon. Each test is a process of its own. */
#ifndef ORDERD_TESTING_LOAD_H
#define ORDERD_TESTING_LOAD_H

#include <jansson.h>
#include <sys/types.h>

#include "orderd/conf.h"
#include "orderd/db.h"
#include "orderd/kv.h"
#include "testing.h"

struct load_scene {
    struct conf *conf;
    struct db *db;
    struct kv *kv;
    char dir[64], conf_file[96], ids_file[96], payments_file[96], out_file[96];
    int64_t activity;
    int64_t pay_timeout_ms; /* of the activity that scene_sell makes; 15 minutes, or what the test sets before */
    pid_t daemon_pid;
    json_t *report; /* of the last orderload */
};

extern struct load_scene scene;

/* A checked fixture: servers, schema and folder; what the test started is ended. The schema is its own, because a fault
 * of test_load takes a unique key away. */
void scene_setup(void);
void scene_teardown(void);

void scene_start(void); /* orderd, and before it its topology */
void scene_stop(void);
void scene_sql(const char *fmt, ...) ORDERD_PRINTF(1, 2);

/* The activity, running; on_sale: its stock is in Redis. */
void scene_sell(int64_t stock, int shards, bool on_sale);

/* A child that ends with us, even where a test fails; its outputs go to these files (NULL: ours). */
pid_t scene_child(char *const *argv, const char *out, const char *err_out);
void scene_wait_exit(pid_t pid, int *status);
const char *scene_program(const char *name);

/* ---- orderload ---- */

/* Runs `orderload -c conf --activity N --json` with the words of line, where IDS and PAYMENTS stand for the scene's
 * files; answers its exit code and reads its report. scene_orderload_start and _end: the same in two halves, for
 * what goes on at the same time; the report goes to a file of its own (out). */
int scene_orderload(const char *line);
pid_t scene_orderload_start(const char *line, const char *out);
int scene_orderload_end(pid_t pid, const char *out);

int64_t scene_fact(const char *name);
int64_t scene_found(const char *check);
const char *scene_verdict(const char *check);
bool scene_names(const char *check, const char *text); /* one of its examples does */

/* The exit code and the report say good. */
void scene_good(int code);

/* Exactly these checks are broken, in their order. */
void scene_broken(const char *expected);

#endif

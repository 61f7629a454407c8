/* A configuration file. Whatever it says, it is refused with a sentence that names the place, or it is a snapshot whose
 * dump says the same when it is read. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fuzz.h"
#include "orderd/conf.h"

/* libconfig itself forgets some bytes of a string where the text around it is none that it knows. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libconfig";
}

static char folder[200], conf_path[210], dump_path[210];

static void remove_folder(void)
{
    (void)unlink(conf_path);
    (void)unlink(dump_path);
    (void)rmdir(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const char *tmp = getenv("TMPDIR");

    (void)argc, (void)argv;
    CHECK(snprintf(folder, sizeof folder, "%s/orderd-fuzz-XXXXXX", tmp ? tmp : "/tmp") < (int)sizeof folder);
    CHECK(mkdtemp(folder) != NULL);
    snprintf(conf_path, sizeof conf_path, "%s/conf", folder);
    snprintf(dump_path, sizeof dump_path, "%s/dump", folder);
    atexit(remove_folder);
    return 0;
}

static void write_file(const char *path, struct slice text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    CHECK(fd >= 0 && write(fd, text.ptr ? text.ptr : "", text.len) == (ssize_t)text.len);
    close(fd);
}

static void count_secret(void *arg, const struct conf_setting *setting)
{
    *(unsigned *)arg += setting->secret_path != NULL;
}

/* Dumped, read, and dumped again. A secret's file is the input itself here, which the dump is not: left out. */
static void check_dump(const struct conf *conf)
{
    struct strbuf first = STRBUF_INIT, second = STRBUF_INIT;
    struct error err = {0};
    unsigned secrets = 0;
    struct conf *back;

    conf_each(conf, count_secret, &secrets);
    conf_dump(conf, &first);
    for (int i = 0; i < 2 && secrets == 0; i++) {
        write_file(dump_path, (struct slice){first.data, first.len});
        back = conf_load(dump_path, &err);
        CHECK(back != NULL);
        strbuf_reset(&second);
        conf_dump(back, &second);
        conf_destroy(&back);
        if (i == 1) /* now every line says that it comes from "dump" */
            CHECK(strcmp(first.data, second.data) == 0);
        strbuf_reset(&first);
        strbuf_add(&first, second.data, second.len);
    }
    (void)unlink(dump_path);
    strbuf_release(&first);
    strbuf_release(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = {0};
    struct conf *conf;

    write_file(conf_path, fuzz_slice(data, size));
    conf = conf_load(conf_path, &err);
    CHECK(conf != NULL || (err.code == ERROR_CONF_INVALID && err.text[0]));
    if (conf)
        check_dump(conf);
    conf_destroy(&conf);
    return 0;
}

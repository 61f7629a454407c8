/* The command lines of the three programs. An input is one of them, an argument a line. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../src/program/ctl/ctl.h"
#include "../../src/program/load/options.h"
#include "fuzz.h"

/* orderd's own options are inside its main file. */
int orderd_main(int argc, char **argv);
#define main orderd_main
#include "../../src/program/orderd_main.c"
#undef main

#define ARGUMENTS_MAX 40

/* What the programs say goes nowhere; the fuzzer and the sanitizers write by other means. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    stdout = fopen("/dev/null", "w");
    stderr = fopen("/dev/null", "w");
    CHECK(stdout != NULL && stderr != NULL);
    return 0;
}

static int split(char *text, char **argv)
{
    int argc = 0;

    for (char *end; argc < ARGUMENTS_MAX && text; text = end) {
        end = strchr(text, '\n');
        if (end)
            *end++ = '\0';
        argv[argc++] = text;
    }
    argv[argc] = NULL;
    return argc;
}

static void ctl(int argc, char **argv)
{
    struct ctl c = {.conf_path = CTL_DEFAULT_CONF};
    struct strbuf help = STRBUF_INIT;
    struct error err = {0};

    if (!ctl_parse(&c, argc, argv, &err))
        CHECK(err.code == ERROR_INPUT_INVALID && err.text[0] && !strchr(err.text, '\n') && !strchr(err.text, '\x1b'));
    else if (c.help)
        ctl_help(&c, &help);
    else if (!c.version)
        CHECK(c.id < CTL_COMMAND_COUNT && c.operand_count <= (size_t)argc);
    strbuf_release(&help);
}

static void load(int argc, char **argv)
{
    struct load_options o;
    enum exitcode code = EXIT_OK;

    if (load_options_parse(argc, argv, &o, &code))
        CHECK(o.command < LOAD_COMMANDS && o.activity > 0);
    else
        CHECK(code == EXIT_OK || code == EXIT_USAGE);
}

static void daemon_options(int argc, char **argv)
{
    struct options o = {DEFAULT_CONF, "", MODE_RUN};
    enum exitcode code = EXIT_OK;

    optind = 0; /* begins anew */
    if (!parse(argc, argv, &o, &code))
        CHECK(o.conf != NULL && conf_instance_valid(o.instance));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = check_malloc(size + 1), *argv[ARGUMENTS_MAX + 1];
    int argc;

    memcpy(text, size ? (const void *)data : "", size);
    text[size] = '\0';
    argc = split(text, argv);
    if (strcmp(argv[0], "orderd") == 0)
        daemon_options(argc, argv);
    else if (strcmp(argv[0], "orderload") == 0)
        load(argc, argv);
    else
        ctl(argc, argv);
    free(text);
    return 0;
}

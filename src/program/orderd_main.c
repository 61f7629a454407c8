/* orderd: the daemon's command line. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/conf.h"
#include "orderd/daemon.h"
#include "orderd/exitcode.h"
#include "orderd/log.h"
#include "orderd/output.h"
#include "orderd/process.h"
#include "orderd/strbuf.h"

#define DEFAULT_CONF "/etc/orderd/orderd.conf"

static const char usage[] = "Usage: orderd [-c FILE] [-i NAME]\n"
                            "       orderd -t | -T [-c FILE]\n"
                            "       orderd --dump-defaults\n"
                            "\n"
                            "Takes flash-sale orders from RabbitMQ and makes each one row in MySQL, once.\n"
                            "\n";

static const char more_usage[] = "\n"
                                 "Signals: TERM or INT finishes the work in hand and ends (twice: at once), HUP\n"
                                 "reloads, USR1 is quiet (takes nothing, finishes what is in hand) until CONT,\n"
                                 "USR2 writes what each thread does into the log.\n"
                                 "\n"
                                 "Exit status: 0 stopped as told, 64 wrong command line, 74 output cannot be\n"
                                 "written, 75 stopped before all was finished (nothing is lost), 78 configuration,\n"
                                 "account, schema or topology is wrong.\n"
                                 "\n"
                                 "Before the first start: orderctl migrate up; orderctl topology apply\n";

enum mode { MODE_RUN, MODE_CHECK, MODE_DUMP };

struct options {
    const char *conf, *instance;
    enum mode mode;
};

enum option_id {
#define X(id, letter, name, value, help, prose) OPTION_##id,
#include "orderd/tbl/daemon_option.h"
#undef X
    OPTIONS
};

/* What getopt answers: the letter, or where there is none a number that no letter has. */
#define ANSWER(id, letter) ((letter) ? (letter) : 256 + OPTION_##id)

static const struct option long_options[] = {
#define X(id, letter, name, value, help, prose)                                                                        \
    {name, sizeof(value) > 1 ? required_argument : no_argument, NULL, ANSWER(id, letter)},
#include "orderd/tbl/daemon_option.h"
#undef X
    {NULL, 0, NULL, 0},
};

static const struct {
    const char *value, *help;
} option_words[OPTIONS] = {
#define X(id, letter, name, value, help, prose) {value, help},
#include "orderd/tbl/daemon_option.h"
#undef X
};

static enum exitcode print(const char *text, size_t len)
{
    fwrite(text, 1, len, stdout);
    return output_end("orderd", EXIT_OK, false);
}

static enum exitcode print_defaults(void)
{
    struct strbuf out = STRBUF_INIT;
    enum exitcode code;

    conf_dump_defaults(&out);
    code = print(out.data, out.len);
    strbuf_release(&out);
    return code;
}

static enum exitcode print_usage(void)
{
    struct strbuf out = STRBUF_INIT;
    enum exitcode code;

    strbuf_add_str(&out, usage);
    for (size_t i = 0; i < OPTIONS; i++) {
        const struct option *o = &long_options[i];
        char letter[] = {'-', (char)o->val, ',', ' ', '\0'}, name[64];

        snprintf(name, sizeof name, "%s%s%s", o->name, option_words[i].value[0] ? " " : "", option_words[i].value);
        strbuf_addf(&out, "  %s--%-17s%s\n", o->val < 256 ? letter : "    ", name, option_words[i].help);
    }
    strbuf_add_str(&out, more_usage);
    code = print(out.data, out.len);
    strbuf_release(&out);
    return code;
}

/* For getopt: ":" tells a missing value from an unknown option. */
static const char *short_options(void)
{
    static char all[2 + 2 * OPTIONS] = ":";
    char *end = all + 1;

    for (size_t i = 0; i < OPTIONS; i++) {
        if (long_options[i].val >= 256)
            continue;
        *end++ = (char)long_options[i].val;
        if (long_options[i].has_arg == required_argument)
            *end++ = ':';
    }
    *end = '\0';
    return all;
}

/* What was typed may hold anything: an error's sentence is one line without control characters. */
static enum exitcode misuse(const char *problem, const char *what)
{
    struct error err;

    (void)error_set(&err, ERROR_INPUT_INVALID, "%s%.60s; see orderd --help", problem, what);
    fprintf(stderr, "orderd: %s\n", err.text);
    return EXIT_USAGE;
}

/* word is the one that getopt has in hand: in "-tx" and in "-t=1" it is not done with it yet. */
static enum exitcode unknown_option(const char *word)
{
    const char letter[] = {'-', (char)optopt, '\0'};

    if (strncmp(word, "--", 2) != 0)
        return misuse("unknown option ", letter);
    return misuse(optopt ? "this option takes no value: " : "unknown option ", word);
}

/* true: *code is how to end. */
static bool parse(int argc, char **argv, struct options *o, enum exitcode *code)
{
    const char *letters = short_options();
    int opt;

    opterr = 0;
    while ((opt = getopt_long(argc, argv, letters, long_options, NULL)) != -1) {
        switch (opt) {
        case 'c':
            o->conf = optarg;
            break;
        case 'i':
            o->instance = optarg;
            break;
        case 't':
            o->mode = MODE_CHECK;
            break;
        case 'T':
            o->mode = MODE_DUMP;
            break;
        case ANSWER(DUMP_DEFAULTS, 0):
            *code = print_defaults();
            return true;
        case 'V':
            *code = print("orderd " ORDERD_VERSION "\n", strlen("orderd " ORDERD_VERSION "\n"));
            return true;
        case 'h':
            *code = print_usage();
            return true;
        case ':':
            *code = misuse("an option needs a value: ", argv[optind - 1]);
            return true;
        default:
            *code = unknown_option(argv[optind - 1]);
            return true;
        }
    }
    if (optind < argc)
        *code = misuse("unexpected argument ", argv[optind]);
    else if (!conf_instance_valid(o->instance))
        *code = misuse("an instance name has at most 40 of letters, digits, '_', '.', '-': ", o->instance);
    else
        return false;
    return true;
}

static enum exitcode dump(const struct conf *conf)
{
    struct strbuf out = STRBUF_INIT;
    enum exitcode code;

    conf_dump(conf, &out);
    code = print(out.data, out.len);
    strbuf_release(&out);
    return code;
}

static void warn_open(void *arg, const char *path, const struct conf_setting *secret)
{
    (void)arg;
    if (secret)
        fprintf(stderr,
                "orderd: warning: everybody on this machine may read %s, which is %s.%s; see `orderctl doctor`\n", path,
                secret->section, secret->name);
    else
        fprintf(stderr, "orderd: warning: everybody on this machine may write %s; see `orderctl doctor`\n", path);
}

static enum exitcode check(const struct conf *conf)
{
    conf_each_open(conf, warn_open, NULL);
    return print("configuration is good\n", strlen("configuration is good\n"));
}

int main(int argc, char **argv)
{
    struct options o = {DEFAULT_CONF, "", MODE_RUN};
    enum exitcode code;
    struct error err = {0};
    struct conf *conf;

    output_prepare();
    process_no_core();
    if (parse(argc, argv, &o, &code))
        return (int)code;
    conf = conf_load(o.conf, &err);
    if (!conf) {
        fprintf(stderr, "orderd: %s\n", err.text);
        return (int)exitcode_of(&err);
    }
    log_set_identity("orderd", o.instance);
    log_configure(conf);
    if (o.mode == MODE_CHECK)
        code = check(conf);
    else if (o.mode == MODE_DUMP)
        code = dump(conf);
    else
        code = daemon_run(&conf, o.instance);
    conf_destroy(&conf);
    return (int)code;
}

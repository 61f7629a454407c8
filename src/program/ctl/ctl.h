/* What the files of program/ctl share: one command line, its options, and what a command needs to do its work. */
#ifndef ORDERD_CTL_PRIVATE_H
#define ORDERD_CTL_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "orderd/activity_store.h" /* ranges in tbl/ctl_option.h */
#include "orderd/broker.h"
#include "orderd/conf.h"
#include "orderd/db.h"
#include "orderd/error.h"
#include "orderd/exitcode.h"
#include "orderd/kv.h"
#include "orderd/local_message.h" /* ranges in tbl/ctl_option.h */

#define CTL_DEFAULT_CONF "/etc/orderd/orderd.conf"

enum ctl_command_id {
#define X(id, words, operands, least, most, brief, more) CTL_##id,
#include "orderd/tbl/ctl_command.h"
#undef X
    CTL_COMMAND_COUNT
};

enum ctl_option_id {
#define X(command, name, spelling, type, value, least, most, def, help) CTL_OPTION_##command##_##name,
#include "orderd/tbl/ctl_option.h"
#undef X
    CTL_OPTION_COUNT
};

enum ctl_type { CTL_FLAG, CTL_NUMBER, CTL_DURATION, CTL_TEXT, CTL_WHEN, CTL_PAST, CTL_CHOICE, CTL_CHOICES };

struct ctl;

struct ctl_command {
    const char *words, *operands;
    size_t least, most;
    const char *brief, *more;
    /* Does it. false: err is printed and decides the exit code. Else ctl->code does. */
    bool (*run)(struct ctl *ctl, struct error *err);
};

struct ctl_option {
    enum ctl_command_id command;
    const char *spelling;
    enum ctl_type type;
    const char *value;
    int64_t least, most;
    const char *def, *help;
};

extern const struct ctl_command ctl_commands[CTL_COMMAND_COUNT];
extern const struct ctl_option ctl_options[CTL_OPTION_COUNT];

/* Options of every command. */
struct ctl_global {
    char letter;
    const char *spelling, *value, *help;
};

enum {
    CTL_GLOBAL_CONFIG,
    CTL_GLOBAL_JSON,
    CTL_GLOBAL_QUIET,
    CTL_GLOBAL_NO_COLOR,
    CTL_GLOBAL_HELP,
    CTL_GLOBAL_VERSION,
    CTL_GLOBAL_COUNT
};

extern const struct ctl_global ctl_globals[CTL_GLOBAL_COUNT];

struct ctl_value {
    bool set; /* given, or by its default */
    const char *text;
    int64_t number; /* NUMBER; DURATION in ms; WHEN and PAST: see struct activity_when; CHOICE: which, from 0;
                       CHOICES: bit 0 the first */
    bool relative;  /* WHEN, PAST */
};

#define CTL_PATH_MAX 64

struct ctl {
    const char *conf_path;
    bool json, quiet, color, help, version;
    char path[CTL_PATH_MAX]; /* the words so far: "activity", "activity create" */
    enum ctl_command_id id;  /* CTL_COMMAND_COUNT while the words name none */
    char **operands;         /* moved together in argv */
    size_t operand_count;
    int64_t operand_id; /* the operand "ID" */
    struct ctl_value values[CTL_OPTION_COUNT];
    struct conf *conf; /* NULL until ctl_load_conf */
    enum exitcode code;
    char advice[256]; /* what to do about the error, where that is not in its sentence */
};

/* ---- the command line (parse.c) ---- */

/* Fills *ctl, which must be zeroed. false: the sentence in err says what is wrong with it. argv must outlive ctl. */
ORDERD_MUST_CHECK bool ctl_parse(struct ctl *ctl, int argc, char **argv, struct error *err);

/* 2027-11-11T10:00:00Z (with up to three digits of a second), now, +5m. */
ORDERD_MUST_CHECK bool ctl_parse_when(const char *text, struct activity_when *out);

/* The same, or a time that lies before now: -5m. ms is then how far. */
ORDERD_MUST_CHECK bool ctl_parse_past(const char *text, struct activity_when *out);

/* A mistake on the command line that only the command itself can see, before it has done anything: the error and the
 * exit code for it. Answers false. */
bool ctl_misuse(struct ctl *ctl, struct error *err, const char *fmt, ...) ORDERD_PRINTF(3, 4);

/* Where the words of a command go on after `path` ("" begins all): its next word, "" at its end; NULL: elsewhere. */
const char *ctl_next_word(const char *words, const char *path);

/* ---- help (help.c) ---- */

/* Of all, of a group ("activity") or of one command, as ctl->path says. */
void ctl_help(const struct ctl *ctl, struct strbuf *out);

extern const char ctl_exit_codes[]; /* a paragraph, after an empty line */

/* ---- servers (servers.c) ---- */

/* All of these set ctl->advice where they fail. */
ORDERD_MUST_CHECK bool ctl_load_conf(struct ctl *ctl, struct error *err);
ORDERD_MUST_CHECK struct db *ctl_open_db(struct ctl *ctl, struct error *err);

/* Only where the schema is the one that this program needs; else DB_SETUP with the command to run. */
ORDERD_MUST_CHECK struct db *ctl_open_schema(struct ctl *ctl, struct error *err);
ORDERD_MUST_CHECK struct kv *ctl_open_kv(struct ctl *ctl, struct error *err);

/* With a watchdog over it until ctl_close_broker. One at a time. host: of several this one alone. */
ORDERD_MUST_CHECK struct broker *ctl_open_broker(struct ctl *ctl, struct error *err);
ORDERD_MUST_CHECK struct broker *ctl_open_broker_at(struct ctl *ctl, const struct conf_node *host, struct error *err);
void ctl_close_broker(struct broker **broker);

/* A refusal by the schema's rules is a matter of set-up (78), not of what the user typed. Answers false. */
bool ctl_schema_refused(struct error *err);

void ctl_advise(struct ctl *ctl, const char *fmt, ...) ORDERD_PRINTF(2, 3);

/* ---- audit (who.c) ---- */

/* Who runs this, for the tables that keep it: "name@host"; under sudo the name of who called it. */
#define CTL_WHO_MAX 200
const char *ctl_who(char out[CTL_WHO_MAX]);

/* ---- the commands ---- */

#define X(id, words, operands, least, most, brief, more) bool ctl_##id(struct ctl *ctl, struct error *err);
#include "orderd/tbl/ctl_command.h"
#undef X

#endif

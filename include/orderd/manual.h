/* Manual pages and shell completion, printed from the tables at build time by `make_manual`
 * (src/program/make_manual_main.c), so that they cannot disagree with the programs. Pages are scdoc(5) text. */
#ifndef ORDERD_MANUAL_H
#define ORDERD_MANUAL_H

#include <stdbool.h>
#include "orderd/strbuf.h"

/* Text with what scdoc would take for markup escaped. */
void manual_text(struct strbuf *out, const char *text);
void manual_bold(struct strbuf *out, const char *text);

/* Begins a new entry: the names in bold and the value in italics, then its text goes below, indented. value may be "".
 */
void manual_entry(struct strbuf *out, const char *names, const char *value);
void manual_below(struct strbuf *out, const char *text);

/* Prose as in the tables: blocks between empty lines. Lines of "word  meaning" become a list; what follows "Example:"
 * or "Examples:" is shown as it is; the rest is filled. */
void manual_prose(struct strbuf *out, const char *text);

/* What a page or a completion file has in place of a line @name@; false: there is no such part. */
bool manual_part(const char *name, struct strbuf *out);

/* A word of a command line, for completion. */
struct manual_word {
    const char *path; /* the command words before it: "", "outbox", "outbox list"; of an option of all commands "" */
    const char *word; /* "list", or an option: "--state" */
    char letter;      /* of the option, or 0 */
    enum { MANUAL_COMMAND, MANUAL_FLAG, MANUAL_VALUE, MANUAL_FILE, MANUAL_CHOICE } kind;
    const char *choice; /* "a|b|c" */
    const char *help;   /* may be "" */
};
typedef void (*manual_word_fn)(void *arg, const struct manual_word *word);
void ctl_manual_words(manual_word_fn on_word, void *arg);
void load_manual_words(manual_word_fn on_word, void *arg);
void daemon_manual_words(manual_word_fn on_word, void *arg);

/* The words as functions of a shell, for the files of scripts/completion; false: no such shell or program. what is
 * "bash-orderctl" and the like. */
bool manual_completion(const char *what, struct strbuf *out);

/* The parts of the programs; each is used by manual_part. */
void ctl_manual_commands(struct strbuf *out);
void ctl_manual_options(struct strbuf *out);
void ctl_manual_exit_codes(struct strbuf *out);
void load_manual_commands(struct strbuf *out);
void daemon_manual_options(struct strbuf *out);

#endif

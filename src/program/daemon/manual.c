/* orderd(8) and the completion of orderd, from the table of its options. */
#include "orderd/manual.h"

#include <stdio.h>
#include <string.h>

static const struct row {
    char letter;
    const char *name, *value, *help, *prose;
} rows[] = {
#define X(id, letter, name, value, help, prose) {letter, name, value, help, prose},
#include "orderd/tbl/daemon_option.h"
#undef X
};

#define ROWS (sizeof rows / sizeof *rows)

void daemon_manual_options(struct strbuf *out)
{
    for (size_t i = 0; i < ROWS; i++) {
        char names[64], option[48];

        snprintf(option, sizeof option, "--%s", rows[i].name);
        snprintf(names, sizeof names, "-%c, %s", rows[i].letter, option);
        manual_entry(out, rows[i].letter ? names : option, rows[i].value);
        manual_below(out, rows[i].prose);
    }
}

void daemon_manual_words(manual_word_fn on_word, void *arg)
{
    for (size_t i = 0; i < ROWS; i++) {
        char word[64];
        struct manual_word w = {.path = "", .word = word, .letter = rows[i].letter, .choice = "", .help = rows[i].help};

        snprintf(word, sizeof word, "--%s", rows[i].name);
        w.kind = strcmp(rows[i].value, "FILE") == 0 ? MANUAL_FILE : rows[i].value[0] ? MANUAL_VALUE : MANUAL_FLAG;
        on_word(arg, &w);
    }
}

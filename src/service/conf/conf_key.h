/* The rows of tbl/conf.h as data, and what can be said about a row without a value. Read-only, any thread. */
#ifndef ORDERD_SERVICE_CONF_KEY_H
#define ORDERD_SERVICE_CONF_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "orderd/strbuf.h"

enum conf_kind {
    CONF_KIND_INT,
    CONF_KIND_DURATION,
    CONF_KIND_SECONDS,
    CONF_KIND_SIZE,
    CONF_KIND_BOOL,
    CONF_KIND_STRING,
    CONF_KIND_SECRET,
    CONF_KIND_FILE,
    CONF_KIND_KEY_FILE,
    CONF_KIND_CHOICE,
    CONF_KIND_NODES,
    CONF_KIND_DELAYS,
};

struct conf_key {
    const char *section, *name;
    enum conf_kind kind;
    bool reload;
    size_t offset; /* of the field in struct conf */
    int64_t def_number;
    const char *def_text; /* NULL where the default is a number */
    int64_t min, max;
    const char *prose; /* as in the table: with the words of a CHOICE in front */
};

enum conf_index {
#define X(section, name, type, def, min, max, flags, prose) CONF_INDEX_##section##_##name,
#include "orderd/tbl/conf.h"
#undef X
    CONF_KEY_COUNT
};

extern const struct conf_key conf_keys[CONF_KEY_COUNT];

/* Whether the value is the name of a file: of a secret, a private key, or another. */
bool conf_key_names_file(const struct conf_key *key);

/* CONF_KEY_COUNT where there is none. */
size_t conf_key_find(const char *section, const char *name);
bool conf_key_has_section(const char *section);

/* The name nearest to a misspelled one, or NULL where none is near. */
const char *conf_key_near_section(const char *word);
const char *conf_key_near_name(const char *section, const char *word);

/* Every section once, or every key of a section, as "a, b, c". */
void conf_key_list_sections(struct strbuf *out);
void conf_key_list_names(const char *section, struct strbuf *out);

/* The words of a CHOICE row: the i-th, or an empty slice; and the prose after them (of other rows: all of it). */
struct slice conf_key_word(const struct conf_key *key, int i);
const char *conf_key_prose(const struct conf_key *key);

/* What a value may be: "a number from 1 to 65535", "one of \"quorum\", \"classic\"". */
void conf_key_expected(const struct conf_key *key, struct strbuf *out);

#endif

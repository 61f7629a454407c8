#include "conf_key.h"

#include <inttypes.h>
#include <string.h>

#include "orderd/conf.h"
#include "orderd/near.h"
#include "orderd/units.h"

#define DEF_INT(d)      .def_number = (d)
#define DEF_DURATION(d) .def_number = (d)
#define DEF_SECONDS(d)  .def_number = (d)
#define DEF_SIZE(d)     .def_number = (d)
#define DEF_BOOL(d)     .def_number = (d)
#define DEF_STRING(d)   .def_text = (d)
#define DEF_SECRET(d)   .def_text = (d)
#define DEF_FILE(d)     .def_text = (d)
#define DEF_KEY_FILE(d) .def_text = (d)
#define DEF_CHOICE(d)   .def_text = (d)
#define DEF_NODES(d)    .def_text = (d)
#define DEF_DELAYS(d)   .def_text = (d)

#define IS_RELOAD       true
#define IS_RESTART      false

const struct conf_key conf_keys[CONF_KEY_COUNT] = {
#define X(section_, name_, type, def, min_, max_, flags, prose_)                                                       \
    {.section = #section_,                                                                                             \
     .name = #name_,                                                                                                   \
     .kind = CONF_KIND_##type,                                                                                         \
     .offset = offsetof(struct conf, section_##_##name_),                                                              \
     DEF_##type(def),                                                                                                  \
     .min = (min_),                                                                                                    \
     .max = (max_),                                                                                                    \
     .reload = IS_##flags,                                                                                             \
     .prose = (prose_)},
#include "orderd/tbl/conf.h"
#undef X
};

/* The rows of a section stand together in the table, so a section begins where the name changes. */
static bool begins_section(size_t i)
{
    return i == 0 || strcmp(conf_keys[i - 1].section, conf_keys[i].section) != 0;
}

bool conf_key_names_file(const struct conf_key *key)
{
    return key->kind == CONF_KIND_SECRET || key->kind == CONF_KIND_FILE || key->kind == CONF_KIND_KEY_FILE;
}

size_t conf_key_find(const char *section, const char *name)
{
    size_t i = 0;

    while (i < CONF_KEY_COUNT && (strcmp(conf_keys[i].section, section) != 0 || strcmp(conf_keys[i].name, name) != 0))
        i++;
    return i;
}

bool conf_key_has_section(const char *section)
{
    for (size_t i = 0; i < CONF_KEY_COUNT; i++) {
        if (strcmp(conf_keys[i].section, section) == 0)
            return true;
    }
    return false;
}

const char *conf_key_near_section(const char *word)
{
    struct near near;

    near_begin(&near, word);
    for (size_t i = 0; i < CONF_KEY_COUNT; i++) {
        if (begins_section(i))
            near_try(&near, conf_keys[i].section);
    }
    return near.best;
}

const char *conf_key_near_name(const char *section, const char *word)
{
    struct near near;

    near_begin(&near, word);
    for (size_t i = 0; i < CONF_KEY_COUNT; i++) {
        if (strcmp(conf_keys[i].section, section) == 0)
            near_try(&near, conf_keys[i].name);
    }
    return near.best;
}

static void add_listed(struct strbuf *out, size_t *listed, const char *name)
{
    strbuf_addf(out, "%s%s", (*listed)++ ? ", " : "", name);
}

void conf_key_list_sections(struct strbuf *out)
{
    size_t listed = 0;

    for (size_t i = 0; i < CONF_KEY_COUNT; i++) {
        if (begins_section(i))
            add_listed(out, &listed, conf_keys[i].section);
    }
}

void conf_key_list_names(const char *section, struct strbuf *out)
{
    size_t listed = 0;

    for (size_t i = 0; i < CONF_KEY_COUNT; i++) {
        if (strcmp(conf_keys[i].section, section) == 0)
            add_listed(out, &listed, conf_keys[i].name);
    }
}

struct slice conf_key_word(const struct conf_key *key, int i)
{
    const char *at = key->prose;

    for (; i > 0; i--) {
        at += strcspn(at, "|:");
        if (*at != '|')
            return (struct slice){"", 0};
        at++;
    }
    return (struct slice){at, strcspn(at, "|:")};
}

const char *conf_key_prose(const struct conf_key *key)
{
    return key->kind == CONF_KIND_CHOICE ? key->prose + strcspn(key->prose, ":") + 2 : key->prose;
}

static void expected_range(const struct conf_key *key, struct strbuf *out, const char *what,
                           void (*format)(char *, size_t, int64_t))
{
    char min[32], max[32];

    format(min, sizeof min, key->min);
    format(max, sizeof max, key->max);
    strbuf_addf(out, "%s from %s to %s", what, min, max);
}

static void expected_words(const struct conf_key *key, struct strbuf *out)
{
    struct slice word = conf_key_word(key, 0);

    strbuf_add_str(out, "one of ");
    for (int i = 0; word.len; word = conf_key_word(key, ++i))
        strbuf_addf(out, "%s\"%.*s\"", i ? ", " : "", (int)word.len, word.ptr);
}

static void expected_delays(const struct conf_key *key, struct strbuf *out)
{
    strbuf_addf(out, "1 to %d durations like \"1s,5s\", each ", CONF_DELAYS_MAX);
    expected_range(key, out, "one", units_format_duration);
}

static void expected_text(const struct conf_key *key, struct strbuf *out)
{
    if (key->min > 0)
        strbuf_addf(out, "text of %" PRId64 " to %" PRId64 " bytes", key->min, key->max);
    else
        strbuf_addf(out, "text of at most %" PRId64 " bytes", key->max);
}

static void expected_nodes(const struct conf_key *key, struct strbuf *out)
{
    strbuf_addf(out, "%" PRId64 " to %" PRId64 " servers as \"host:port, host:port\"", key->min, key->max);
}

void conf_key_expected(const struct conf_key *key, struct strbuf *out)
{
    switch (key->kind) {
    case CONF_KIND_INT:
        strbuf_addf(out, "a number from %" PRId64 " to %" PRId64, key->min, key->max);
        break;
    case CONF_KIND_DURATION:
        expected_range(key, out, "a duration like \"5s\"", units_format_duration);
        break;
    case CONF_KIND_SECONDS:
        expected_range(key, out, "a duration in whole seconds like \"5s\"", units_format_duration);
        break;
    case CONF_KIND_SIZE:
        expected_range(key, out, "a size like \"64KiB\"", units_format_size);
        break;
    case CONF_KIND_BOOL:
        strbuf_add_str(out, "true or false");
        break;
    case CONF_KIND_STRING:
        expected_text(key, out);
        break;
    case CONF_KIND_SECRET:
        strbuf_addf(out, "the name of a file with one line of at most %" PRId64 " bytes", key->max);
        break;
    case CONF_KIND_FILE:
        strbuf_add_str(out, "the name of a file");
        break;
    case CONF_KIND_KEY_FILE:
        strbuf_add_str(out, "the name of a file with a private key");
        break;
    case CONF_KIND_CHOICE:
        expected_words(key, out);
        break;
    case CONF_KIND_NODES:
        expected_nodes(key, out);
        break;
    case CONF_KIND_DELAYS:
        expected_delays(key, out);
        break;
    }
}

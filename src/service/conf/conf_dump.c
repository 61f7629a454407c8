#include "orderd/conf.h"

#include <string.h>

#include "conf_private.h"
#include "conf_value.h"
#include "orderd/check.h"

#define COMMENT_COLUMN 48
#define LINE_WIDTH     78

static void add_origin(const struct conf_key *key, const struct conf_origin *origin, struct strbuf *out)
{
    if (origin->file)
        strbuf_addf(out, "# %s:%u", origin->file, origin->line);
    else
        strbuf_add_str(out, "# default");
    if (origin->file_path)
        strbuf_addf(out, ", %s %s", key->kind == CONF_KIND_SECRET ? "*** read from" : "in", origin->file_path);
    strbuf_add_char(out, '\n');
}

/* Of a file only its name. */
static void add_value(const struct conf *conf, size_t i, struct strbuf *out)
{
    bool file = conf_key_names_file(&conf_keys[i]);

    conf_value_print(&conf_keys[i], file ? (const void *)&conf->origins->of[i].file_name : conf_field_const(conf, i),
                     out);
}

static void add_setting(const struct conf *conf, size_t i, struct strbuf *out)
{
    strbuf_addf(out, "%s = ", conf_keys[i].name);
    add_value(conf, i, out);
    strbuf_add_char(out, ';');
}

static void dump_setting(const struct conf *conf, size_t i, struct strbuf *out)
{
    size_t start = out->len;

    strbuf_add_str(out, "    ");
    add_setting(conf, i, out);
    do
        strbuf_add_char(out, ' ');
    while (out->len - start < COMMENT_COLUMN);
    add_origin(&conf_keys[i], &conf->origins->of[i], out);
}

/* Opens and closes the groups around the rows. */
static void between(size_t i, struct strbuf *out)
{
    if (i > 0 && i < CONF_KEY_COUNT && strcmp(conf_keys[i - 1].section, conf_keys[i].section) == 0)
        return;
    if (i > 0)
        strbuf_add_str(out, "};\n");
    if (i < CONF_KEY_COUNT)
        strbuf_addf(out, "%s%s: {\n", i > 0 ? "\n" : "", conf_keys[i].section);
}

void conf_dump(const struct conf *conf, struct strbuf *out)
{
    for (size_t i = 0; i < CONF_KEY_COUNT; i++) {
        between(i, out);
        dump_setting(conf, i, out);
    }
    between(CONF_KEY_COUNT, out);
}

/* As comment lines of at most LINE_WIDTH columns. */
static void add_wrapped(const char *text, struct strbuf *out)
{
    size_t column = 0;

    while (*text) {
        size_t len = strcspn(text, " ");

        if (column && column + 1 + len > LINE_WIDTH) {
            strbuf_add_char(out, '\n');
            column = 0;
        }
        strbuf_add_str(out, column ? " " : "    # ");
        strbuf_add(out, text, len);
        column += column ? len + 1 : len + strlen("    # ");
        text += len + strspn(text + len, " ");
    }
    strbuf_add_char(out, '\n');
}

static void sample_setting(const struct conf *defaults, size_t i, struct strbuf *out)
{
    const struct conf_key *key = &conf_keys[i];
    struct strbuf about = STRBUF_INIT;

    strbuf_addf(&about, "%s [", conf_key_prose(key));
    conf_key_expected(key, &about);
    strbuf_add_str(&about, key->reload ? "; taken over on reload]" : "; needs a restart]");
    add_wrapped(about.data, out);
    strbuf_add_str(out, "    #");
    add_setting(defaults, i, out);
    strbuf_add_char(out, '\n');
    strbuf_release(&about);
}

static const char sample_head[] = "# The configuration of orderd and its tools (libconfig syntax): every key with\n"
                                  "# its default.\n"
                                  "#\n"
                                  "# Take the # off a key to change it. Durations and sizes are strings with a unit\n"
                                  "# (ms s m h d; B KiB MiB GiB). `orderd --check-config` says what is wrong with a\n"
                                  "# file, `orderd --dump-config` what is in force and where it was set. SIGHUP\n"
                                  "# reloads. Another file: @include \"name\", looked up beside this one.\n"
                                  "#\n"
                                  "# Printed by `orderd --dump-defaults`.\n\n";

static struct conf *load_defaults(void)
{
    struct error err;
    struct conf *defaults = conf_load(NULL, &err);

    CHECK(defaults != NULL);
    return defaults;
}

void conf_dump_defaults(struct strbuf *out)
{
    struct conf *defaults = load_defaults();

    strbuf_add_str(out, sample_head);
    for (size_t i = 0; i < CONF_KEY_COUNT; i++) {
        between(i, out);
        sample_setting(defaults, i, out);
    }
    between(CONF_KEY_COUNT, out);
    conf_destroy(&defaults);
}

static void hand_setting(const struct conf *conf, size_t i, conf_setting_fn on_setting, void *arg)
{
    const struct conf_key *key = &conf_keys[i];
    const struct conf_origin *origin = &conf->origins->of[i];
    struct strbuf value = STRBUF_INIT, expected = STRBUF_INIT;

    add_value(conf, i, &value);
    conf_key_expected(key, &expected);
    on_setting(arg, &(struct conf_setting){key->section, key->name, value.data, origin->file, origin->line,
                                           key->kind == CONF_KIND_FILE ? NULL : origin->file_path,
                                           key->kind == CONF_KIND_FILE ? origin->file_path : NULL, expected.data,
                                           key->reload, conf_key_prose(key)});
    strbuf_release(&value);
    strbuf_release(&expected);
}

void conf_each_file(const struct conf *conf, conf_file_fn on_file, void *arg)
{
    struct slice rest = conf->origins->included;

    if (conf->path)
        on_file(arg, conf->path);
    while (rest.len > 0) {
        size_t len = strlen(rest.ptr) + 1;

        on_file(arg, rest.ptr);
        rest = (struct slice){rest.ptr + len, rest.len - len};
    }
}

void conf_each(const struct conf *conf, conf_setting_fn on_setting, void *arg)
{
    struct conf *defaults = conf ? NULL : load_defaults();

    for (size_t i = 0; i < CONF_KEY_COUNT; i++)
        hand_setting(conf ? conf : defaults, i, on_setting, arg);
    conf_destroy(&defaults);
}

#include "conf_value.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/conf.h"
#include "orderd/units.h"

bool conf_value_bad(const struct conf_key *key, struct error *err, const char *fmt, ...)
{
    struct strbuf expected = STRBUF_INIT;
    char problem[ERROR_TEXT_MAX];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(problem, sizeof problem, fmt, ap);
    va_end(ap);
    conf_key_expected(key, &expected);
    error_set(err, ERROR_CONF_INVALID, "%s (expected %s)", problem, expected.data);
    strbuf_release(&expected);
    return false;
}

static bool wrong_type(const struct conf_key *key, const config_setting_t *setting, struct error *err)
{
    static const char *const names[] = {
        [CONFIG_TYPE_GROUP] = "a group",    [CONFIG_TYPE_INT] = "a number",    [CONFIG_TYPE_INT64] = "a number",
        [CONFIG_TYPE_FLOAT] = "a fraction", [CONFIG_TYPE_STRING] = "a string", [CONFIG_TYPE_BOOL] = "a truth value",
        [CONFIG_TYPE_ARRAY] = "an array",   [CONFIG_TYPE_LIST] = "a list",
    };
    size_t type = (size_t)config_setting_type(setting);

    return conf_value_bad(key, err, "%s is the wrong type",
                          type < sizeof names / sizeof *names && names[type] ? names[type] : "this");
}

static bool in_range(const struct conf_key *key, int64_t n)
{
    return n >= key->min && n <= key->max;
}

static bool read_number(const struct conf_key *key, const config_setting_t *setting, int64_t *field, struct error *err)
{
    int type = config_setting_type(setting);
    int64_t n;

    if (type != CONFIG_TYPE_INT && type != CONFIG_TYPE_INT64)
        return wrong_type(key, setting, err);
    n = type == CONFIG_TYPE_INT ? config_setting_get_int(setting) : config_setting_get_int64(setting);
    if (!in_range(key, n))
        return conf_value_bad(key, err, "%" PRId64 " is out of range", n);
    *field = n;
    return true;
}

static bool parse_units(const struct conf_key *key, const char *text, int64_t *field, struct error *err)
{
    bool is_size = key->kind == CONF_KIND_SIZE;
    int64_t n;

    if (!(is_size ? units_parse_size(text, &n) : units_parse_duration(text, &n)))
        return conf_value_bad(key, err, "\"%.60s\" is not a %s", text, is_size ? "size" : "duration");
    if (!in_range(key, n))
        return conf_value_bad(key, err, "\"%.60s\" is out of range", text);
    if (key->kind == CONF_KIND_SECONDS && n % 1000 != 0)
        return conf_value_bad(key, err, "\"%.60s\" is not in whole seconds", text);
    *field = n;
    return true;
}

static bool parse_string(const struct conf_key *key, const char *text, const char **field, struct arena *arena,
                         struct error *err)
{
    size_t len = strlen(text);

    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            return conf_value_bad(key, err, "\"%.60s\" has a control character", text);
    }
    if (key->kind == CONF_KIND_STRING && len == 0 && key->min > 0)
        return conf_value_bad(key, err, "text is empty");
    if (key->kind == CONF_KIND_STRING && !in_range(key, (int64_t)len))
        return conf_value_bad(key, err, "text of %zu bytes is too %s", len, (int64_t)len < key->min ? "short" : "long");
    *field = arena_strndup(arena, text, len);
    return true;
}

static bool parse_nodes(const struct conf_key *key, const char *text, const char **field, struct arena *arena,
                        struct error *err)
{
    const char *list = text;
    struct conf_node node;
    int64_t count = 0;

    while (conf_node_next(&list, &node))
        count++;
    if (*list)
        return conf_value_bad(key, err, "\"%.200s\" is no list of servers", text);
    if (!in_range(key, count))
        return conf_value_bad(key, err, "%" PRId64 " servers are too %s", count, count < key->min ? "few" : "many");
    return parse_string(key, text, field, arena, err);
}

static bool parse_choice(const struct conf_key *key, const char *text, int *field, struct error *err)
{
    struct slice word = conf_key_word(key, 0);

    for (int i = 0; word.len; word = conf_key_word(key, ++i)) {
        if (slice_is(word, text)) {
            *field = i;
            return true;
        }
    }
    return conf_value_bad(key, err, "\"%.60s\" is not one of its words", text);
}

static bool parse_delay(const struct conf_key *key, struct slice text, struct conf_delays *delays, struct error *err)
{
    char one[32];

    if (delays->count == CONF_DELAYS_MAX)
        return conf_value_bad(key, err, "has more than %d delays", CONF_DELAYS_MAX);
    snprintf(one, sizeof one, "%.*s", text.len < sizeof one ? (int)text.len : (int)sizeof one, text.ptr);
    if (!units_parse_duration(one, &delays->ms[delays->count]))
        return conf_value_bad(key, err, "\"%s\" is not a duration", one);
    if (!in_range(key, delays->ms[delays->count]))
        return conf_value_bad(key, err, "\"%s\" is out of range", one);
    delays->count++;
    return true;
}

static bool parse_delays(const struct conf_key *key, const char *text, struct conf_delays *field, struct error *err)
{
    struct conf_delays delays = {0};

    for (;;) {
        size_t len = strcspn(text, ",");

        if (!parse_delay(key, (struct slice){text, len}, &delays, err))
            return false;
        if (text[len] == '\0')
            break;
        text += len + 1;
    }
    *field = delays;
    return true;
}

bool conf_value_parse(const struct conf_key *key, const char *text, void *field, struct arena *arena, struct error *err)
{
    switch (key->kind) {
    case CONF_KIND_DURATION:
    case CONF_KIND_SECONDS:
    case CONF_KIND_SIZE:
        return parse_units(key, text, field, err);
    case CONF_KIND_STRING:
    case CONF_KIND_SECRET:
    case CONF_KIND_FILE:
    case CONF_KIND_KEY_FILE:
        return parse_string(key, text, field, arena, err);
    case CONF_KIND_NODES:
        return parse_nodes(key, text, field, arena, err);
    case CONF_KIND_CHOICE:
        return parse_choice(key, text, field, err);
    case CONF_KIND_DELAYS:
        return parse_delays(key, text, field, err);
    case CONF_KIND_INT:
    case CONF_KIND_BOOL:
        break;
    }
    return error_set(err, ERROR_INTERNAL, "%s.%s is not text", key->section, key->name);
}

bool conf_value_read(const struct conf_key *key, const config_setting_t *setting, void *field, struct arena *arena,
                     struct error *err)
{
    int type = config_setting_type(setting);

    if (key->kind == CONF_KIND_INT)
        return read_number(key, setting, field, err);
    if (type != (key->kind == CONF_KIND_BOOL ? CONFIG_TYPE_BOOL : CONFIG_TYPE_STRING))
        return wrong_type(key, setting, err);
    if (key->kind != CONF_KIND_BOOL)
        return conf_value_parse(key, config_setting_get_string(setting), field, arena, err);
    *(bool *)field = config_setting_get_bool(setting) == CONFIG_TRUE;
    return true;
}

void conf_value_default(const struct conf_key *key, void *field, struct arena *arena)
{
    struct error err;

    if (key->def_text)
        CHECK(conf_value_parse(key, key->def_text, field, arena, &err));
    else if (key->kind == CONF_KIND_BOOL)
        *(bool *)field = key->def_number != 0;
    else
        *(int64_t *)field = key->def_number;
}

static bool equal_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool equal_delays(const struct conf_delays *a, const struct conf_delays *b)
{
    return a->count == b->count && memcmp(a->ms, b->ms, a->count * sizeof *a->ms) == 0;
}

bool conf_value_equal(const struct conf_key *key, const void *a, const void *b)
{
    switch (key->kind) {
    case CONF_KIND_STRING:
    case CONF_KIND_SECRET:
    case CONF_KIND_FILE:
    case CONF_KIND_KEY_FILE:
    case CONF_KIND_NODES:
        return equal_text(*(const char *const *)a, *(const char *const *)b);
    case CONF_KIND_CHOICE:
        return *(const int *)a == *(const int *)b;
    case CONF_KIND_BOOL:
        return *(const bool *)a == *(const bool *)b;
    case CONF_KIND_DELAYS:
        return equal_delays(a, b);
    default:
        return *(const int64_t *)a == *(const int64_t *)b;
    }
}

void conf_value_copy(const struct conf_key *key, void *to, const void *from, struct arena *arena)
{
    const char *text;

    switch (key->kind) {
    case CONF_KIND_STRING:
    case CONF_KIND_SECRET:
    case CONF_KIND_FILE:
    case CONF_KIND_KEY_FILE:
    case CONF_KIND_NODES:
        text = *(const char *const *)from;
        *(const char **)to = text ? arena_strndup(arena, text, strlen(text)) : NULL;
        break;
    case CONF_KIND_CHOICE:
        *(int *)to = *(const int *)from;
        break;
    case CONF_KIND_BOOL:
        *(bool *)to = *(const bool *)from;
        break;
    case CONF_KIND_DELAYS:
        *(struct conf_delays *)to = *(const struct conf_delays *)from;
        break;
    default:
        *(int64_t *)to = *(const int64_t *)from;
    }
}

static void print_text(const char *text, struct strbuf *out)
{
    strbuf_add_char(out, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            strbuf_add_char(out, '\\');
        strbuf_add_char(out, *text);
    }
    strbuf_add_char(out, '"');
}

static void print_units(int64_t n, void (*format)(char *, size_t, int64_t), struct strbuf *out)
{
    char text[32];

    format(text, sizeof text, n);
    strbuf_addf(out, "\"%s\"", text);
}

static void print_delays(const struct conf_delays *delays, struct strbuf *out)
{
    char text[32];

    strbuf_add_char(out, '"');
    for (size_t i = 0; i < delays->count; i++) {
        units_format_duration(text, sizeof text, delays->ms[i]);
        strbuf_addf(out, "%s%s", i ? "," : "", text);
    }
    strbuf_add_char(out, '"');
}

static void print_integer(int64_t n, struct strbuf *out)
{
    strbuf_add_i64(out, n);
    if (n < INT32_MIN || n > INT32_MAX)
        strbuf_add_char(out, 'L');
}

void conf_value_print(const struct conf_key *key, const void *field, struct strbuf *out)
{
    struct slice word;

    switch (key->kind) {
    case CONF_KIND_INT:
        print_integer(*(const int64_t *)field, out);
        break;
    case CONF_KIND_DURATION:
    case CONF_KIND_SECONDS:
        print_units(*(const int64_t *)field, units_format_duration, out);
        break;
    case CONF_KIND_SIZE:
        print_units(*(const int64_t *)field, units_format_size, out);
        break;
    case CONF_KIND_BOOL:
        strbuf_add_str(out, *(const bool *)field ? "true" : "false");
        break;
    case CONF_KIND_STRING:
    case CONF_KIND_SECRET:
    case CONF_KIND_FILE:
    case CONF_KIND_KEY_FILE:
    case CONF_KIND_NODES:
        print_text(*(const char *const *)field, out);
        break;
    case CONF_KIND_CHOICE:
        word = conf_key_word(key, *(const int *)field);
        strbuf_addf(out, "\"%.*s\"", (int)word.len, word.ptr);
        break;
    case CONF_KIND_DELAYS:
        print_delays(field, out);
        break;
    }
}

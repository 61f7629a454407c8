#include "testing_schema.h"

#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "testing.h"

struct check {
    bool strict;
    char place[200]; /* "/orders/3/amount" */
    char *why;
    size_t size;
};

static bool wrong(struct check *c, const char *fmt, ...) ORDERD_PRINTF(2, 3);

static bool wrong(struct check *c, const char *fmt, ...)
{
    va_list ap;
    int len = snprintf(c->why, c->size, "%s: ", c->place[0] ? c->place : "/");

    va_start(ap, fmt);
    if (len >= 0 && (size_t)len < c->size)
        vsnprintf(c->why + len, c->size - (size_t)len, fmt, ap);
    va_end(ap);
    return false;
}

static bool valid(struct check *c, const json_t *schema, const json_t *value);

static bool valid_at(struct check *c, const char *step, const json_t *schema, const json_t *value)
{
    size_t len = strlen(c->place);
    bool ok;

    snprintf(c->place + len, sizeof c->place - len, "/%s", step);
    ok = valid(c, schema, value);
    c->place[len] = '\0';
    return ok;
}

static bool check_type(struct check *c, const json_t *type, const json_t *value)
{
    static const struct {
        const char *name;
        json_type type;
    } types[] = {{"object", JSON_OBJECT}, {"array", JSON_ARRAY}, {"string", JSON_STRING}, {"integer", JSON_INTEGER}};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(json_string_value(type), types[i].name) == 0)
            return json_typeof(value) == types[i].type || wrong(c, "is no %s", types[i].name);
    }
    ck_abort_msg("type %s is not known", json_string_value(type));
}

static bool check_enum(struct check *c, const json_t *list, const json_t *value)
{
    json_t *one;
    size_t i;

    json_array_foreach((json_t *)list, i, one)
    {
        if (json_equal(one, value))
            return true;
    }
    return wrong(c, "is none of the words");
}

static bool check_required(struct check *c, const json_t *names, const json_t *value)
{
    json_t *name;
    size_t i;

    json_array_foreach((json_t *)names, i, name)
    {
        if (json_is_object(value) && !json_object_get(value, json_string_value(name)))
            return wrong(c, "%s is missing", json_string_value(name));
    }
    return true;
}

static bool check_properties(struct check *c, const json_t *properties, const json_t *value, bool all)
{
    const char *name;
    json_t *member;

    json_object_foreach((json_t *)value, name, member)
    {
        const json_t *schema = json_object_get(properties, name);

        if (schema && !valid_at(c, name, schema, member))
            return false;
        if (!schema && all && c->strict)
            return wrong(c, "%s is not described", name);
    }
    return true;
}

static bool check_items(struct check *c, const json_t *schema, const json_t *value)
{
    json_t *entry;
    size_t i;

    json_array_foreach((json_t *)value, i, entry)
    {
        char step[24];

        snprintf(step, sizeof step, "%zu", i);
        if (!valid_at(c, step, schema, entry))
            return false;
    }
    return true;
}

static bool check_pattern(struct check *c, const json_t *pattern, const json_t *value)
{
    regex_t re;
    bool ok;

    if (!json_is_string(value))
        return true;
    ck_assert_int_eq(regcomp(&re, json_string_value(pattern), REG_EXTENDED | REG_NOSUB), 0);
    ok = regexec(&re, json_string_value(value), 0, NULL, 0) == 0;
    regfree(&re);
    return ok || wrong(c, "\"%s\" does not match %s", json_string_value(value), json_string_value(pattern));
}

static bool check_one_of(struct check *c, const json_t *list, const json_t *value)
{
    size_t i, fits = 0;
    json_t *one;

    json_array_foreach((json_t *)list, i, one) fits += valid(c, one, value);
    return fits == 1 || wrong(c, "fits %zu of the alternatives", fits);
}

/* Limits say nothing about values of other types. */
static bool within(struct check *c, const char *word, json_int_t limit, const json_t *value)
{
    json_int_t n = json_is_integer(value) ? json_integer_value(value) : (json_int_t)json_array_size(value);
    bool least = word[1] == 'i', about_arrays = strstr(word, "Items") != NULL;

    if (about_arrays ? !json_is_array(value) : !json_is_integer(value))
        return true;
    return (least ? n >= limit : n <= limit) ||
           wrong(c, "%" JSON_INTEGER_FORMAT " is beyond %s %" JSON_INTEGER_FORMAT, n, word, limit);
}

static bool check_word(struct check *c, const json_t *schema, const char *word, const json_t *arg, const json_t *value)
{
    static const char *const prose[] = {"$schema", "$id", "title", "description"};

    for (size_t i = 0; i < sizeof prose / sizeof *prose; i++) {
        if (strcmp(word, prose[i]) == 0)
            return true;
    }
    if (strcmp(word, "type") == 0)
        return check_type(c, arg, value);
    if (strcmp(word, "const") == 0)
        return json_equal(arg, value) || wrong(c, "is another value");
    if (strcmp(word, "enum") == 0)
        return check_enum(c, arg, value);
    if (strcmp(word, "required") == 0)
        return check_required(c, arg, value);
    if (strcmp(word, "properties") == 0)
        return check_properties(c, arg, value, json_object_get(schema, "type") != NULL);
    if (strcmp(word, "items") == 0)
        return check_items(c, arg, value);
    if (strcmp(word, "pattern") == 0)
        return check_pattern(c, arg, value);
    if (strcmp(word, "oneOf") == 0)
        return check_one_of(c, arg, value);
    ck_assert_msg(strcmp(word, "minimum") == 0 || strcmp(word, "maximum") == 0 || strcmp(word, "minItems") == 0 ||
                      strcmp(word, "maxItems") == 0,
                  "%s is not known", word);
    return within(c, word, json_integer_value(arg), value);
}

static bool valid(struct check *c, const json_t *schema, const json_t *value)
{
    const char *word;
    json_t *arg;

    ck_assert(json_is_object(schema));
    json_object_foreach((json_t *)schema, word, arg)
    {
        if (!check_word(c, schema, word, arg, value))
            return false;
    }
    return true;
}

json_t *testing_schema_load(const char *path)
{
    json_error_t where;
    char full[512];
    json_t *root;

    snprintf(full, sizeof full, "%s/%s", testing_env("ORDERD_SOURCE"), path);
    root = json_load_file(full, JSON_REJECT_DUPLICATES, &where);
    ck_assert_msg(root != NULL, "%s:%d: %s", full, where.line, where.text);
    return root;
}

bool testing_schema_check(const json_t *schema, const json_t *value, bool strict, char *why, size_t size)
{
    struct check c = {.strict = strict, .why = why, .size = size};

    why[0] = '\0';
    return valid(&c, schema, value);
}

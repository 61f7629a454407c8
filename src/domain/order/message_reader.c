#include "message_reader.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum reason message_refuse(struct message_reader *r, enum reason reason, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(r->detail, r->detail_size, fmt, ap);
    va_end(ap);
    return reason;
}

static const char *type_name(json_type type)
{
    static const char *const names[] = {"an object", "an array", "a string", "an integer",
                                        "a real",    "true",     "false",    "null"};
    return names[type];
}

enum reason message_member(struct message_reader *r, const char *name, json_type type, const json_t **out)
{
    *out = json_object_get(r->root, name);
    if (!*out)
        return message_refuse(r, REASON_MEMBER_MISSING, "member %s is missing", name);
    if (json_typeof(*out) != type)
        return message_refuse(r, REASON_MEMBER_TYPE, "member %s is %s (expected %s)", name,
                              type_name(json_typeof(*out)), type_name(type));
    return REASON_NONE;
}

enum reason message_integer(struct message_reader *r, const char *name, int64_t min, int64_t max, int64_t *out)
{
    const json_t *value;
    enum reason reason = message_member(r, name, JSON_INTEGER, &value);

    if (reason != REASON_NONE)
        return reason;
    *out = json_integer_value(value);
    if (*out < min || *out > max)
        return message_refuse(r, REASON_MEMBER_RANGE, "member %s is %" PRId64 " (expected %" PRId64 " to %" PRId64 ")",
                              name, *out, min, max);
    return REASON_NONE;
}

enum reason message_order_no(struct message_reader *r, const char *name, const json_t *value, char *out)
{
    struct slice text = {json_string_value(value), json_string_length(value)};

    if (!json_is_string(value))
        return message_refuse(r, REASON_MEMBER_TYPE, "%s is %s (expected a string)", name,
                              type_name(json_typeof(value)));
    if (!order_no_valid(text))
        return message_refuse(r, REASON_ORDER_NO_INVALID, "%s has %zu bytes or others than [0-9A-Za-z_]", name,
                              text.len);
    memcpy(out, text.ptr, text.len);
    out[text.len] = '\0';
    return REASON_NONE;
}

static enum reason read_version(struct message_reader *r)
{
    const json_t *value;
    enum reason reason = message_member(r, "v", JSON_INTEGER, &value);

    if (reason == REASON_NONE && json_integer_value(value) != 1)
        reason = message_refuse(r, REASON_VERSION_UNKNOWN, "message version %" JSON_INTEGER_FORMAT " (expected 1)",
                                json_integer_value(value));
    return reason;
}

/* jansson says in words what it refused; a member twice is worth its own reason. */
static enum reason parse_failed(struct message_reader *r, const json_error_t *error)
{
    enum reason reason =
        json_error_code(error) == json_error_duplicate_key ? REASON_MEMBER_DUPLICATE : REASON_BODY_NOT_JSON;

    return message_refuse(r, reason, "at byte %d: %s", error->position, error->text);
}

enum reason message_open(struct message_reader *r, struct slice body, size_t max, char *detail, size_t detail_size)
{
    json_error_t error;

    *r = (struct message_reader){NULL, detail, detail_size};
    detail[0] = '\0';
    if (body.len > max)
        return message_refuse(r, REASON_BODY_TOO_LARGE, "the body has %zu bytes (expected at most %zu)", body.len, max);
    /* Without flags jansson already refuses: invalid UTF-8, bytes behind the value, NUL in strings, integers over 64
     * bits, nesting deeper than 2048. */
    r->root = json_loadb(body.ptr ? body.ptr : "", body.len, JSON_REJECT_DUPLICATES, &error);
    if (!r->root)
        return parse_failed(r, &error);
    if (!json_is_object(r->root))
        return message_refuse(r, REASON_BODY_NOT_JSON, "the body is %s (expected an object)",
                              type_name(json_typeof(r->root)));
    return read_version(r);
}

void message_close(struct message_reader *r)
{
    json_decref(r->root);
    r->root = NULL;
}

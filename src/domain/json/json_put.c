#include "orderd/json_put.h"

#include "orderd/check.h"
#include "orderd/strbuf.h"

void json_put(json_t *object, const char *name, json_t *value)
{
    CHECK(value != NULL && json_object_set_new(object, name, value) == 0);
}

void json_put_last(json_t *list, json_t *value)
{
    CHECK(value != NULL && json_array_append_new(list, value) == 0);
}

json_t *json_text(const char *text)
{
    struct strbuf clean = STRBUF_INIT;
    json_t *value;

    strbuf_add_utf8(&clean, slice_of(text));
    value = json_string(clean.data ? clean.data : "");
    strbuf_release(&clean);
    return value;
}

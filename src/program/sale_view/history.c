/* The document of GET /sale/history. */
#include <jansson.h>
#include <stdlib.h>

#include "fields.h"
#include "orderd/check.h"
#include "orderd/sale_view.h"

struct sale_history {
    json_t *document;
    const json_t *points; /* of document: an array */
};

struct sale_history *sale_history_parse(const char *text, size_t len, struct error *err)
{
    json_t *root = json_loadb(text, len, JSON_ALLOW_NUL, NULL);
    struct sale_history *h;

    if (!json_is_array(json_object_get(root, "points"))) {
        error_set(err, ERROR_ADMIN_AWAY, "the answer to /sale/history has no points");
        json_decref(root);
        return NULL;
    }
    h = check_calloc(1, sizeof *h);
    h->document = root;
    h->points = json_object_get(root, "points");
    return h;
}

void sale_history_destroy(struct sale_history **history)
{
    if (*history)
        json_decref((*history)->document);
    free(*history);
    *history = NULL;
}

static double left_at(const json_t *point, int64_t id)
{
    const json_t *list = json_object_get(point, "activities"), *a;
    size_t i;

    json_array_foreach(list, i, a)
    {
        if (field_count(a, "id") == id)
            return field_real(a, "left");
    }
    return NAN;
}

size_t sale_history_left(const struct sale_history *h, int64_t id, double *out, size_t most, int64_t *span_ms)
{
    size_t all = json_array_size(h->points), count = all < most ? all : most;
    int64_t first, last;

    *span_ms = 0;
    for (size_t i = 0; i < count; i++)
        out[i] = left_at(json_array_get(h->points, all - count + i), id);
    if (count < 2)
        return count;
    first = field_count(json_array_get(h->points, all - count), "at");
    last = field_count(json_array_get(h->points, all - 1), "at");
    if (first >= 0 && last > first)
        *span_ms = last - first;
    return count;
}

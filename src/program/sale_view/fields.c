#include "fields.h"

#include <math.h>

#include "orderd/check.h"
#include "orderd/sale_view.h"

/* Far from where a double is no whole number of an int64 any more. */
#define NUMBER_MAX 9e18

const char *field_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "";
}

int64_t field_number(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    double real = json_number_value(value);

    if (!json_is_number(value) || !isfinite(real) || fabs(real) > NUMBER_MAX)
        return SALE_UNKNOWN;
    return json_is_integer(value) ? json_integer_value(value) : (int64_t)llround(real);
}

int64_t field_count(const json_t *object, const char *name)
{
    int64_t n = field_number(object, name);

    return n >= 0 ? n : SALE_UNKNOWN;
}

double field_real(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    double real = json_number_value(value);

    return json_is_number(value) && real >= 0 && real <= NUMBER_MAX ? real : NAN;
}

void *field_list(const json_t *object, const char *name, size_t size, field_take_fn take, size_t *count)
{
    const json_t *array = json_object_get(object, name), *element;
    char *list = NULL;
    size_t i;

    *count = 0;
    if (json_array_size(array) > 0)
        list = check_calloc(json_array_size(array), size);
    json_array_foreach(array, i, element)
    {
        if (json_is_object(element))
            take(element, list + size * (*count)++);
    }
    return list;
}

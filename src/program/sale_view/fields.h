/* Members of an object that may be anything. */
#ifndef ORDERD_SALE_VIEW_FIELDS_H
#define ORDERD_SALE_VIEW_FIELDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* "" where it is no text. */
const char *field_text(const json_t *object, const char *name);

/* Any whole number; SALE_UNKNOWN where it is none, or too large. field_count: and where it is below 0. */
int64_t field_number(const json_t *object, const char *name);
int64_t field_count(const json_t *object, const char *name);

/* From 0 up; NAN. */
double field_real(const json_t *object, const char *name);

/* The elements of an array member that are objects, each given to take() as it is put into a new array of `size`
 * bytes each. *count of them; NULL where there is none. */
typedef void (*field_take_fn)(const json_t *object, void *element);
void *field_list(const json_t *object, const char *name, size_t size, field_take_fn take, size_t *count);

#endif

/* Building JSON documents with jansson, where nothing but a lack of memory can go wrong: that ends the process
 * (check.h). Pure; any thread, one document each. */
#ifndef ORDERD_JSON_PUT_H
#define ORDERD_JSON_PUT_H

#include <jansson.h>

/* Both take over value, which must not be NULL. A member that is there already is replaced. */
void json_put(json_t *object, const char *name, json_t *value);
void json_put_last(json_t *list, json_t *value);

/* A text of any bytes, as servers have them in their errors: what is no UTF-8 is replaced (strbuf_add_utf8). */
json_t *json_text(const char *text);

#endif

/* A JSON value against a JSON schema: of draft 2020-12 as much as docs/order-event.schema.json uses. */
#ifndef ORDERD_TESTING_SCHEMA_H
#define ORDERD_TESTING_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* A file of the sources, e.g. "docs/order-event.schema.json"; fails the test where it is no JSON. json_decref it. */
json_t *testing_schema_load(const char *path);

/* Whether the value satisfies it; else `why` names the place and what is wrong. strict: members that the schema does
 * not describe are wrong as well. Fails the test where the schema uses a word that is not known here. */
bool testing_schema_check(const json_t *schema, const json_t *value, bool strict, char *why, size_t size);

#endif

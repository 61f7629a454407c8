/* One value of a row: from text or from libconfig's tree, compared, copied and printed. `field` points at what conf.h
 * calls CONF_FIELD_<TYPE>; for files it holds the name here, not what is resolved from it. Strings live in the
 * arena. Problems are "what is wrong (expected what may be)", without file and key. */
#ifndef ORDERD_SERVICE_CONF_VALUE_H
#define ORDERD_SERVICE_CONF_VALUE_H

#include <libconfig.h>
#include "conf_key.h"
#include "orderd/arena.h"
#include "orderd/error.h"
#include "orderd/strbuf.h"

ORDERD_MUST_CHECK bool conf_value_read(const struct conf_key *key, const config_setting_t *setting, void *field,
                                       struct arena *arena, struct error *err);

/* For the types that are text in the file. */
ORDERD_MUST_CHECK bool conf_value_parse(const struct conf_key *key, const char *text, void *field, struct arena *arena,
                                        struct error *err);

void conf_value_default(const struct conf_key *key, void *field, struct arena *arena);
bool conf_value_equal(const struct conf_key *key, const void *a, const void *b);
void conf_value_copy(const struct conf_key *key, void *to, const void *from, struct arena *arena);

/* As it is written in the file: 5672, "5s", true, "text". */
void conf_value_print(const struct conf_key *key, const void *field, struct strbuf *out);

/* CONF_INVALID "problem (expected ...)"; for problems that others find with a value of this row. */
bool conf_value_bad(const struct conf_key *key, struct error *err, const char *fmt, ...) ORDERD_PRINTF(3, 4);

#endif

/* What the decoders of our messages share. Foreign bytes end here: one JSON object in UTF-8 with every member once;
 * members that are not ours are ignored. Each step answers REASON_NONE, or why not and says so in `detail`. Pure. */
#ifndef ORDERD_MESSAGE_READER_H
#define ORDERD_MESSAGE_READER_H

#include <jansson.h>

#include "orderd/order.h"

struct message_reader {
    json_t *root;
    char *detail;
    size_t detail_size;
};

/* Parses it and reads its version, which must be 1. Close it whatever the answer is. max: bytes. */
enum reason message_open(struct message_reader *r, struct slice body, size_t max, char *detail, size_t detail_size);
void message_close(struct message_reader *r);

enum reason message_integer(struct message_reader *r, const char *name, int64_t min, int64_t max, int64_t *out);

/* A valid order number, NUL added. out: ORDER_NO_MAX + 1 bytes. */
enum reason message_order_no(struct message_reader *r, const char *name, const json_t *value, char *out);

/* The member, which must be there and of this type. */
enum reason message_member(struct message_reader *r, const char *name, json_type type, const json_t **out);

enum reason message_refuse(struct message_reader *r, enum reason reason, const char *fmt, ...) ORDERD_PRINTF(3, 4);

#endif

/* How a row is read; shared by the files that serve local_message_admin.h. */
#ifndef ORDERD_LOCAL_MESSAGE_ROW_H
#define ORDERD_LOCAL_MESSAGE_ROW_H

#include "orderd/local_message_admin.h"

#define LOCAL_MESSAGE_MS(column) "CAST(TIMESTAMPDIFF(MICROSECOND,'1970-01-01'," column ") DIV 1000 AS SIGNED)"

/* A lease that ended is no lease: its holder may not mark the row any more once somebody else has taken it. */
#define LOCAL_MESSAGE_LEASED "(state='pending' AND COALESCE(lease_until>NOW(6),0))"

/* In the order in which local_message_row_read takes them. */
#define LOCAL_MESSAGE_COLUMNS                                                                                                               \
    "id,message_key,topic,CAST(state AS CHAR),attempts,LENGTH(payload)," LOCAL_MESSAGE_MS("NOW(6)") "," LOCAL_MESSAGE_MS(                   \
        "due_at") "," LOCAL_MESSAGE_MS("created_at") "," LOCAL_MESSAGE_MS("sent_at") "," LOCAL_MESSAGE_MS("lease_"                          \
                                                                                                          "until") "," LOCAL_MESSAGE_LEASED \
                                                                                                                   ","                      \
                                                                                                                   "l"                      \
                                                                                                                   "e"                      \
                                                                                                                   "a"                      \
                                                                                                                   "s"                      \
                                                                                                                   "e"                      \
                                                                                                                   "_"                      \
                                                                                                                   "o"                      \
                                                                                                                   "w"                      \
                                                                                                                   "n"                      \
                                                                                                                   "e"                      \
                                                                                                                   "r"                      \
                                                                                                                   ","                      \
                                                                                                                   "l"                      \
                                                                                                                   "a"                      \
                                                                                                                   "s"                      \
                                                                                                                   "t"                      \
                                                                                                                   "_"                      \
                                                                                                                   "e"                      \
                                                                                                                   "r"                      \
                                                                                                                   "r"                      \
                                                                                                                   "o"                      \
                                                                                                                   "r"
#define LOCAL_MESSAGE_COLUMN_COUNT 14

/* false: not such columns. */
bool local_message_row_read(const struct slice *columns, unsigned count, struct local_message_row *out);

/* The end of the next stretch of ids that one statement goes over: INT64_MAX where it is the last. */
ORDERD_MUST_CHECK bool local_message_stretch(struct db *db, int64_t after, int64_t *end, struct error *err);

#endif

/* The three protocols, as far as the fault proxy must know them: where a frame ends, and which frame is the answer that
 * a drill loses: the OK of a COMMIT (MySQL), a script's result (Redis), a publisher's confirm (AMQP). Plain connections
 * only: what is encrypted cannot be read. One thread. */
#ifndef ORDERD_PROXY_WIRE_H
#define ORDERD_PROXY_WIRE_H

#include <stdbool.h>
#include <stddef.h>

#include "orderd/strbuf.h"

enum protocol { PROTOCOL_AMQP, PROTOCOL_MYSQL, PROTOCOL_REDIS, PROTOCOL_COUNT };
enum way { WAY_UP, WAY_DOWN, WAY_COUNT }; /* client to server; server to client */

/* In an answer of MySQL: the first packet of a result, its columns, the packet after them, its rows; none is open. */
enum answer_part { PART_NONE, PART_FIRST, PART_COLUMNS, PART_COLUMNS_END, PART_ROWS };

struct wire { /* one connection; begin with {.protocol = ...} */
    enum protocol protocol;
    bool greeted; /* AMQP: the client's protocol header has passed */
    enum answer_part part;
    size_t columns;
    bool commits;        /* MySQL: the statements in hand end in COMMIT */
    bool short_ends;     /* MySQL: the client has asked for results without the packet after the columns */
    struct strbuf asked; /* Redis: for each command without an answer yet, 's' for a script and '.' for another */
};

/* "amqp", "mysql" or "redis"; PROTOCOL_COUNT for another word. */
enum protocol protocol_of(const char *word);

/* Length of the first frame of `in`; 0 while not all of it is there. */
size_t wire_frame(const struct wire *w, enum way way, struct slice in);

/* A whole frame passes, in the order of the stream. true: it is an answer of the kind that drills lose, and it says
 * that the server has done what was asked. */
bool wire_pass(struct wire *w, enum way way, struct slice frame);

void wire_release(struct wire *w);

#endif

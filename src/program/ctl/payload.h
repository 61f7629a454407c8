/* Bytes of a message in a form that people and programs can take. Pure. */
#ifndef ORDERD_CTL_PAYLOAD_H
#define ORDERD_CTL_PAYLOAD_H

#include <stdbool.h>
#include "orderd/strbuf.h"

/* A JSON object or list, with each member and element on a line of its own; nothing but white space is changed. false,
 * and *out unchanged: it is no such thing, or too big or too deep to be read that way. */
bool payload_indent(struct slice json, struct strbuf *out);

/* RFC 4648, with padding. */
void payload_add_base64(struct strbuf *out, struct slice bytes);

/* The other way. false where it is not that, in its one canonical form; *out may have grown. */
bool payload_take_base64(struct strbuf *out, struct slice text);

#endif

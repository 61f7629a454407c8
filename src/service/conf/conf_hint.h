/* Why libconfig may have called a file wrong: it says "syntax error" and a line, never what it met there. */
#ifndef ORDERD_SERVICE_CONF_HINT_H
#define ORDERD_SERVICE_CONF_HINT_H

#include "orderd/strbuf.h"

/* Appends what is likely wrong with this source, as "a } is missing", and in which line where that is another than
 * libconfig's; or, where nothing of the usual is, what a configuration looks like. Of the source only names of sections
 * and keys are quoted: it may be a file of secrets that was named by mistake. */
void conf_hint(struct slice source, unsigned line, struct strbuf *out);

#endif

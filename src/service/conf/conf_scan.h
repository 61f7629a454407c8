/* Looks at the raw text of a configuration before libconfig does, for what libconfig would misread in silence or die
 * of: see conf_lexer.h. */
#ifndef ORDERD_SERVICE_CONF_SCAN_H
#define ORDERD_SERVICE_CONF_SCAN_H

#include "orderd/error.h"
#include "orderd/strbuf.h"

/* source is the text of the file path; files it includes are read from disk. Their names, each ended by a NUL, are
 * appended to included; one that is included twice is there twice. */
ORDERD_MUST_CHECK bool conf_scan(const char *path, struct slice source, struct strbuf *included, struct error *err);

#endif

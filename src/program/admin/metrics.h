/* What the files that write /metrics share; nobody else includes it.
 *
 *   metrics.c        the page; what this process counts and does
 *   sale_metrics.c   the whole sale, from the survey */
#ifndef ORDERD_ADMIN_METRICS_H
#define ORDERD_ADMIN_METRICS_H

#include <stdint.h>

#include "orderd/admin.h"

#define PREFIX "orderd_"

/* HELP and TYPE of a family. */
void metrics_head(struct strbuf *out, const char *name, const char *type, const char *help);

void metrics_sale(struct strbuf *out, const struct admin_view *view);

#endif

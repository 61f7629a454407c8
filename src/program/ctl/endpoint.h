/* The admin endpoint of a running orderd, as a client. */
#ifndef ORDERD_CTL_ENDPOINT_H
#define ORDERD_CTL_ENDPOINT_H

#include <jansson.h>

#include "ctl.h"

/* Gets a page of the endpoint that the configuration and the instance name; within about 5 s. Appends its body to out,
 * *status is HTTP's. false: nobody answers, or it is no orderd (sets ctl->advice). */
ORDERD_MUST_CHECK bool endpoint_get(struct ctl *ctl, const char *instance, const char *path, int *status,
                                    struct strbuf *out, struct error *err);

/* /status of that orderd; appends its text to body. NULL: as endpoint_get, or it is something else. The caller frees it
 * (json_decref). */
ORDERD_MUST_CHECK json_t *endpoint_status(struct ctl *ctl, const char *instance, struct strbuf *body,
                                          struct error *err);

#endif

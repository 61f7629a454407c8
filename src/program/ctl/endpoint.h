/* The admin endpoint of a running orderd, as a client. */
#ifndef ORDERD_CTL_ENDPOINT_H
#define ORDERD_CTL_ENDPOINT_H

#include "ctl.h"

/* Gets a page of the endpoint that the configuration and the instance name; within about 5 s. Appends its body to out,
 * *status is HTTP's. false: nobody answers, or it is no orderd (sets ctl->advice). */
ORDERD_MUST_CHECK bool endpoint_get(struct ctl *ctl, const char *instance, const char *path, int *status,
                                    struct strbuf *out, struct error *err);

#endif

/* The admin endpoint of a running orderd, as a client. */
#ifndef ORDERD_CTL_ENDPOINT_H
#define ORDERD_CTL_ENDPOINT_H

#include <jansson.h>

#include "ctl.h"

struct endpoint {
    const char *host; /* of the configuration */
    int port;
};

/* Where the replica of that name is asked, by the configuration. */
ORDERD_MUST_CHECK bool endpoint_find(struct ctl *ctl, const char *instance, struct endpoint *out, struct error *err);

/* Gets a page: appends its body to out, *status is HTTP's; within about 5 s, or soon after stop_fd can be read (-1:
 * never). false: nobody answers, or it is no orderd. Any thread. */
ORDERD_MUST_CHECK bool endpoint_ask(const struct endpoint *endpoint, const char *path, int stop_fd, int *status,
                                    struct strbuf *out, struct error *err);

/* Both, with ctl->advice where it fails. */
ORDERD_MUST_CHECK bool endpoint_get(struct ctl *ctl, const char *instance, const char *path, int *status,
                                    struct strbuf *out, struct error *err);

/* /status of that orderd; appends its text to body. NULL: as endpoint_get, or it is something else. The caller frees it
 * (json_decref). */
ORDERD_MUST_CHECK json_t *endpoint_status(struct ctl *ctl, const char *instance, struct strbuf *body,
                                          struct error *err);

/* What to do where none answers. */
void endpoint_advise(struct ctl *ctl);

#endif

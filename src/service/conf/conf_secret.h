/* Secrets: the content of the file that a *password_file key names. */
#ifndef ORDERD_SERVICE_CONF_SECRET_H
#define ORDERD_SERVICE_CONF_SECRET_H

#include "conf_private.h"
#include "orderd/error.h"

/* Takes row i's field, the file's name, and puts its content there (NULL, or the row's stand-in, where the name is
 * empty); name and place go to the row's origin. Problems as in conf_value.h, never with content. */
ORDERD_MUST_CHECK bool conf_secret_resolve(struct conf *conf, size_t i, struct error *err);

#endif

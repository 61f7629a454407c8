/* The files that keys name: secrets, whose content is the value, and others, of which it is the place. */
#ifndef ORDERD_SERVICE_CONF_NAMED_H
#define ORDERD_SERVICE_CONF_NAMED_H

#include "conf_private.h"
#include "orderd/error.h"

/* Takes row i's field, the file's name, and puts its content there, or its path (NULL, or the row's stand-in, where the
 * name is empty); name and place go to the row's origin. Problems as in conf_value.h, never with content. */
ORDERD_MUST_CHECK bool conf_named_resolve(struct conf *conf, size_t i, struct error *err);

#endif

/* The inside of a snapshot. */
#ifndef ORDERD_SERVICE_CONF_PRIVATE_H
#define ORDERD_SERVICE_CONF_PRIVATE_H

#include "conf_key.h"
#include "orderd/arena.h"
#include "orderd/conf.h"

struct conf_origin {
    const char *file; /* NULL: the default */
    unsigned line;
    const char *file_name; /* rows that name a file: as written, "" for none */
    const char *file_path; /* where it was found, or NULL */
};

struct conf_origins {
    struct arena *arena; /* holds every string of the snapshot */
    struct conf_origin of[CONF_KEY_COUNT];
    struct slice included; /* names of files, each ended by a NUL; some perhaps twice */
};

static inline void *conf_field(struct conf *conf, size_t i)
{
    return (char *)conf + conf_keys[i].offset;
}

static inline const void *conf_field_const(const struct conf *conf, size_t i)
{
    return (const char *)conf + conf_keys[i].offset;
}

static inline const char *conf_strdup(struct conf *conf, const char *text)
{
    return arena_strndup(conf->origins->arena, text, strlen(text));
}

#endif

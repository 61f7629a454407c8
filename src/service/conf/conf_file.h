/* From files to libconfig's tree, with the traps of libconfig 1.5 closed on the way (see conf_lexer.h). */
#ifndef ORDERD_SERVICE_CONF_FILE_H
#define ORDERD_SERVICE_CONF_FILE_H

#include <libconfig.h>
#include "orderd/error.h"
#include "orderd/strbuf.h"

#define CONF_FILE_LIMIT ((size_t)1 << 20) /* bytes; far more than every key with every comment */

/* Appends the whole file. 0 or an errno; EFBIG where it has more than limit bytes. */
ORDERD_MUST_CHECK int conf_file_read(const char *path, size_t limit, struct strbuf *out);

/* The folder part of path ("." where it has none), and name beside it (absolute names as they are). */
void conf_file_folder(const char *path, struct strbuf *out);
void conf_file_beside(const char *path, const char *name, struct strbuf *out);

struct conf_tree {
    config_t config;
    const char *path;       /* the main file's, the caller's string */
    struct strbuf included; /* the names of the others, each ended by a NUL */
};

/* Parses path with its includes. On success the caller must end with conf_tree_release. */
ORDERD_MUST_CHECK bool conf_tree_load(struct conf_tree *tree, const char *path, struct error *err);
void conf_tree_release(struct conf_tree *tree);

/* Appends the file a setting stands in, with its folder. */
void conf_tree_file(const struct conf_tree *tree, const config_setting_t *setting, struct strbuf *out);

#endif

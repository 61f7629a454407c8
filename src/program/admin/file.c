#include "file.h"

#include <string.h>

#define X(name, path, type, file)                                                                                      \
    extern const char admin_file_##name##_data[], admin_file_##name##_etag[];                                          \
    extern const size_t admin_file_##name##_len;
#include "orderd/tbl/admin_file.h"
#undef X

static const struct admin_file files[] = {
#define X(name, path, type, file)                                                                                      \
    {path, type, admin_file_##name##_etag, admin_file_##name##_data, &admin_file_##name##_len},
#include "orderd/tbl/admin_file.h"
#undef X
};

const struct admin_file *admin_file_of(const char *path)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (strcmp(files[i].path, path) == 0)
            return &files[i];
    }
    return NULL;
}

/* The quotes belong to the tag, so it is not found within another; W/ before it makes no difference. */
bool admin_file_known(const struct admin_file *file, const char *if_none_match)
{
    if (!if_none_match)
        return false;
    return strcmp(if_none_match, "*") == 0 || strstr(if_none_match, file->etag) != NULL;
}

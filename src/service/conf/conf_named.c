#include "conf_named.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "conf_file.h"
#include "conf_value.h"

static void strip_newline(struct strbuf *content)
{
    if (content->len && content->data[content->len - 1] == '\n')
        strbuf_cut(content, content->len - 1);
    if (content->len && content->data[content->len - 1] == '\r')
        strbuf_cut(content, content->len - 1);
}

/* Returns an errno, or 0. */
static int read_line(const char *path, size_t limit, struct strbuf *out)
{
    int failure = conf_file_read(path, limit, out);

    strip_newline(out);
    return failure;
}

/* Reads the first of the two places that has such a file; the path that counts, tried last, is left in *path. An empty
 * credential counts as none: the unit has one where the administrator has none. */
static int read_named(const struct conf *conf, const char *name, size_t limit, struct strbuf *path, struct strbuf *out)
{
    const char *credentials = getenv("CREDENTIALS_DIRECTORY");

    if (name[0] != '/' && credentials && credentials[0]) {
        strbuf_addf(path, "%s/%s", credentials, name);
        int failure = read_line(path->data, limit, out);
        if (failure ? failure != ENOENT : out->len > 0)
            return failure;
        strbuf_reset(path);
    }
    conf_file_beside(conf->path ? conf->path : "", name, path);
    return read_line(path->data, limit, out);
}

static const char *called(const struct conf_key *key)
{
    return key->kind == CONF_KIND_SECRET ? "secret file" : "file";
}

static bool check_content(const struct conf_key *key, const char *path, const struct strbuf *content, struct error *err)
{
    if (content->len == 0)
        return conf_value_bad(key, err, "%s \"%s\" is empty", called(key), path);
    if (key->kind != CONF_KIND_SECRET) /* more is for the library to say that reads it */
        return true;
    if (memchr(content->data, '\n', content->len))
        return conf_value_bad(key, err, "secret file \"%s\" has more than one line", path);
    if (memchr(content->data, '\0', content->len))
        return conf_value_bad(key, err, "secret file \"%s\" has a NUL byte", path);
    if ((int64_t)content->len > key->max)
        return conf_value_bad(key, err, "secret file \"%s\" is too long", path);
    return true;
}

/* "\r\n" more than the longest secret is still read. */
static size_t longest(const struct conf_key *key)
{
    return key->kind == CONF_KIND_SECRET ? (size_t)key->max + 2 : CONF_FILE_LIMIT;
}

static bool load(struct conf *conf, size_t i, const char *name, struct error *err)
{
    const struct conf_key *key = &conf_keys[i];
    struct strbuf path = STRBUF_INIT, content = STRBUF_INIT;
    int failure = read_named(conf, name, longest(key), &path, &content);
    bool ok;

    if (failure == EFBIG)
        ok = conf_value_bad(key, err, "%s \"%s\" is too long", called(key), path.data);
    else if (failure)
        ok = conf_value_bad(key, err, "%s \"%s\": %s", called(key), path.data, strerror(failure));
    else
        ok = check_content(key, path.data, &content, err);
    if (ok) {
        conf->origins->of[i].file_path = conf_strdup(conf, path.data);
        *(const char **)conf_field(conf, i) =
            key->kind == CONF_KIND_SECRET ? conf_strdup(conf, content.data) : conf->origins->of[i].file_path;
    }
    if (content.data)
        explicit_bzero(content.data, content.cap);
    strbuf_release(&content);
    strbuf_release(&path);
    return ok;
}

bool conf_named_resolve(struct conf *conf, size_t i, struct error *err)
{
    const char *name = *(const char **)conf_field(conf, i);

    conf->origins->of[i].file_name = name;
    if (name[0])
        return load(conf, i, name, err);
    /* RabbitMQ's own default account; a database without a password is another matter than one with a known one. */
    *(const char **)conf_field(conf, i) = i == CONF_INDEX_broker_password_file ? "guest" : NULL;
    return true;
}

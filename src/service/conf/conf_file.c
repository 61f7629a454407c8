#include "conf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "conf_hint.h"
#include "conf_scan.h"

int conf_file_read(const char *path, size_t limit, struct strbuf *out)
{
    size_t start = out->len;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;
    int result = 0;

    if (fd < 0)
        return errno;
    do {
        strbuf_reserve(out, 4096);
        n = read(fd, out->data + out->len, 4096);
        if (n > 0)
            out->len += (size_t)n;
    } while ((n > 0 && out->len - start <= limit) || (n < 0 && errno == EINTR));
    if (n < 0)
        result = errno;
    else if (out->len - start > limit)
        result = EFBIG;
    close(fd);
    strbuf_cut(out, out->len);
    return result;
}

void conf_file_folder(const char *path, struct strbuf *out)
{
    const char *slash = strrchr(path, '/');

    if (slash == NULL)
        strbuf_add_str(out, ".");
    else
        strbuf_add(out, path, slash == path ? 1 : (size_t)(slash - path));
}

void conf_file_beside(const char *path, const char *name, struct strbuf *out)
{
    const char *slash = strrchr(path, '/');

    if (name[0] != '/' && slash != NULL)
        strbuf_add(out, path, (size_t)(slash - path) + 1);
    strbuf_add_str(out, name);
}

/* libconfig names the main file NULL when it reads a string, and an included one as it was written (1.5) or with its
 * folder (later). */
static void add_file(const struct conf_tree *tree, const char *file, struct strbuf *out)
{
    size_t start = out->len;

    if (file == NULL) {
        strbuf_add_str(out, tree->path);
        return;
    }
    while (strncmp(file, "./", 2) == 0)
        file += 2;
    conf_file_beside(tree->path, file, out);
    if (access(out->data + start, F_OK) != 0) {
        strbuf_cut(out, start);
        strbuf_add_str(out, file);
    }
}

void conf_tree_file(const struct conf_tree *tree, const config_setting_t *setting, struct strbuf *out)
{
    add_file(tree, config_setting_source_file(setting), out);
}

/* The main file is not read a second time: it may be a pipe. (conf_scan refuses such an included one.) */
static void explain(const struct conf_tree *tree, const char *file, const char *main_source, struct strbuf *out)
{
    struct strbuf source = STRBUF_INIT;

    if (!config_error_file(&tree->config))
        strbuf_add_str(&source, main_source);
    else if (conf_file_read(file, CONF_FILE_LIMIT, &source) != 0)
        strbuf_reset(&source);
    strbuf_add_str(out, ": ");
    conf_hint((struct slice){source.data, source.len}, (unsigned)config_error_line(&tree->config), out);
    strbuf_release(&source);
}

static bool not_parsed(struct conf_tree *tree, const char *source, struct error *err)
{
    struct strbuf file = STRBUF_INIT, hint = STRBUF_INIT;
    const char *what = config_error_text(&tree->config);

    add_file(tree, config_error_file(&tree->config), &file);
    if (strcmp(what, "syntax error") == 0)
        explain(tree, file.data, source, &hint);
    error_set(err, ERROR_CONF_INVALID, "%s:%d: %s%s", file.data, config_error_line(&tree->config), what,
              hint.len > 0 ? hint.data : "");
    strbuf_release(&file);
    strbuf_release(&hint);
    return false;
}

/* What to do about a main file that cannot be read. */
static const char *file_advice(int failure)
{
    if (failure == ENOENT)
        return "expected a configuration file, see -c; `orderd --dump-defaults` prints one to begin with";
    if (failure == EACCES)
        return "run it as root or as the user orderd, or name one that you may read by -c FILE";
    return "expected a configuration file";
}

static bool parse(struct conf_tree *tree, const char *source, struct error *err)
{
    struct strbuf folder = STRBUF_INIT;
    bool ok;

    conf_file_folder(tree->path, &folder);
    config_init(&tree->config);
    config_set_include_dir(&tree->config, folder.data);
    ok = config_read_string(&tree->config, source) == CONFIG_TRUE || not_parsed(tree, source, err);
    if (!ok)
        config_destroy(&tree->config);
    strbuf_release(&folder);
    return ok;
}

bool conf_tree_load(struct conf_tree *tree, const char *path, struct error *err)
{
    struct strbuf source = STRBUF_INIT;
    int failure = conf_file_read(path, CONF_FILE_LIMIT, &source);
    bool ok;

    tree->path = path;
    tree->included = (struct strbuf)STRBUF_INIT;
    if (failure)
        ok = error_set(err, ERROR_CONF_INVALID, "%s: %s (%s)", path, strerror(failure), file_advice(failure));
    else
        ok = conf_scan(path, (struct slice){source.data, source.len}, &tree->included, err) &&
             parse(tree, source.data, err);
    strbuf_release(&source);
    if (!ok)
        strbuf_release(&tree->included);
    return ok;
}

void conf_tree_release(struct conf_tree *tree)
{
    strbuf_release(&tree->included);
    config_destroy(&tree->config);
}

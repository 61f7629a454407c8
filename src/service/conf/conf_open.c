/* Files of the configuration that everybody on this machine may do with what only its owner should. */
#include <sys/stat.h>

#include "orderd/conf.h"

struct listener {
    conf_open_fn on_open;
    void *arg;
};

static bool everybody_may(const char *path, mode_t mode)
{
    struct stat st;

    return stat(path, &st) == 0 && st.st_mode & mode;
}

static void look_at_file(void *arg, const char *path)
{
    const struct listener *l = arg;

    if (everybody_may(path, S_IWOTH))
        l->on_open(l->arg, path, NULL);
}

static void look_at_secret(void *arg, const struct conf_setting *s)
{
    const struct listener *l = arg;

    if (s->secret_path && everybody_may(s->secret_path, S_IROTH))
        l->on_open(l->arg, s->secret_path, s);
}

void conf_each_open(const struct conf *conf, conf_open_fn on_open, void *arg)
{
    struct listener listener = {on_open, arg};

    conf_each_file(conf, look_at_file, &listener);
    conf_each(conf, look_at_secret, &listener);
}

/* orderctl config: the configuration file. */
#include <stdio.h>

#include "print.h"
#include "record.h"

static void warn_open(void *arg, const char *path, const struct conf_setting *secret)
{
    (void)arg;
    if (secret)
        print_warning("everybody on this machine may read %s, which is %s.%s; see `orderctl doctor`", path,
                      secret->section, secret->name);
    else
        print_warning("everybody on this machine may write %s; see `orderctl doctor`", path);
}

bool ctl_config_check(struct ctl *ctl, struct error *err)
{
    struct strbuf line = STRBUF_INIT;

    if (!ctl_load_conf(ctl, err))
        return false;
    conf_each_open(ctl->conf, warn_open, NULL);
    if (!ctl->json) {
        printf("%s is good\n", ctl->conf_path);
        return true;
    }
    record_open(&line, NULL, '{');
    record_text(&line, "file", ctl->conf_path);
    record_bool(&line, "good", true);
    record_close(&line, '}');
    record_print(&line);
    strbuf_release(&line);
    return true;
}

static void begin_setting(struct strbuf *line, const struct conf_setting *s)
{
    struct strbuf key = STRBUF_INIT;

    strbuf_addf(&key, "%s.%s", s->section, s->name);
    record_open(line, NULL, '{');
    record_text(line, "key", key.data);
    record_text(line, "value", s->value);
    strbuf_release(&key);
}

static void end_setting(struct strbuf *line)
{
    record_close(line, '}');
    record_print(line);
    strbuf_release(line);
}

static void print_in_force(void *arg, const struct conf_setting *s)
{
    struct strbuf line = STRBUF_INIT;

    (void)arg;
    begin_setting(&line, s);
    record_text(&line, "file", s->file);
    if (s->file)
        record_number(&line, "line", s->line);
    else
        record_null(&line, "line");
    end_setting(&line);
}

static void print_default(void *arg, const struct conf_setting *s)
{
    struct strbuf line = STRBUF_INIT;

    (void)arg;
    begin_setting(&line, s);
    record_text(&line, "expected", s->expected);
    record_bool(&line, "reload", s->reload);
    record_text(&line, "about", s->prose);
    end_setting(&line);
}

static void print_text(struct strbuf *text)
{
    fwrite(text->data, 1, text->len, stdout);
    strbuf_release(text);
}

bool ctl_config_dump(struct ctl *ctl, struct error *err)
{
    struct strbuf text = STRBUF_INIT;

    if (!ctl_load_conf(ctl, err))
        return false;
    if (ctl->json) {
        conf_each(ctl->conf, print_in_force, NULL);
        return true;
    }
    conf_dump(ctl->conf, &text);
    print_text(&text);
    return true;
}

bool ctl_config_defaults(struct ctl *ctl, struct error *err)
{
    struct strbuf text = STRBUF_INIT;

    (void)err;
    if (ctl->json) {
        conf_each(NULL, print_default, NULL);
        return true;
    }
    conf_dump_defaults(&text);
    print_text(&text);
    return true;
}

#include "orderd/conf.h"

#include "conf_file.h"
#include "conf_private.h"
#include "conf_named.h"
#include "conf_rule.h"
#include "conf_tls.h"
#include "conf_value.h"
#include "orderd/check.h"

#define ARENA_CHUNK 4096

static struct conf *create(const char *path)
{
    struct conf *conf = check_calloc(1, sizeof *conf);

    conf->origins = check_calloc(1, sizeof *conf->origins);
    conf->origins->arena = arena_create(ARENA_CHUNK);
    conf->path = path ? conf_strdup(conf, path) : NULL;
    for (size_t i = 0; i < CONF_KEY_COUNT; i++)
        conf_value_default(&conf_keys[i], conf_field(conf, i), conf->origins->arena);
    return conf;
}

void conf_destroy(struct conf **conf)
{
    if (*conf == NULL)
        return;
    arena_destroy(&(*conf)->origins->arena);
    free((*conf)->origins);
    free(*conf);
    *conf = NULL;
}

/* Puts "file:line: " in front. */
static bool locate(const struct conf_tree *tree, const config_setting_t *setting, struct error *err)
{
    struct strbuf file = STRBUF_INIT;

    conf_tree_file(tree, setting, &file);
    error_prefix(err, "%s:%u", file.data, (unsigned)config_setting_source_line(setting));
    strbuf_release(&file);
    return false;
}

static bool unknown(const char *what, const char *full_name, const char *near, const struct strbuf *known,
                    struct error *err)
{
    if (near)
        return error_set(err, ERROR_CONF_INVALID, "%.100s: unknown %s; did you mean \"%s\"? (expected one of %s)",
                         full_name, what, near, known->data);
    return error_set(err, ERROR_CONF_INVALID, "%.100s: unknown %s (expected one of %s)", full_name, what, known->data);
}

static bool unknown_section(const char *section, struct error *err)
{
    struct strbuf known = STRBUF_INIT;

    conf_key_list_sections(&known);
    unknown("section", section, conf_key_near_section(section), &known, err);
    strbuf_release(&known);
    return false;
}

static bool unknown_key(const char *section, const char *name, struct error *err)
{
    struct strbuf known = STRBUF_INIT, full = STRBUF_INIT;

    conf_key_list_names(section, &known);
    strbuf_addf(&full, "%s.%s", section, name);
    unknown("key", full.data, conf_key_near_name(section, name), &known, err);
    strbuf_release(&known);
    strbuf_release(&full);
    return false;
}

static bool load_value(struct conf *conf, const struct conf_tree *tree, size_t i, const config_setting_t *setting,
                       struct error *err)
{
    struct conf_origin *origin = &conf->origins->of[i];
    struct strbuf file = STRBUF_INIT;

    if (!conf_value_read(&conf_keys[i], setting, conf_field(conf, i), conf->origins->arena, err))
        return error_prefix(err, "%s.%s", conf_keys[i].section, conf_keys[i].name);
    conf_tree_file(tree, setting, &file);
    origin->file = conf_strdup(conf, file.data);
    origin->line = (unsigned)config_setting_source_line(setting);
    strbuf_release(&file);
    return true;
}

static bool check_section(const config_setting_t *group, struct error *err)
{
    const char *section = config_setting_name(group);

    if (!conf_key_has_section(section))
        return unknown_section(section, err);
    return config_setting_is_group(group) ||
           error_set(err, ERROR_CONF_INVALID, "%s: not a group (expected %s: { ... })", section, section);
}

static bool load_section(struct conf *conf, const struct conf_tree *tree, const config_setting_t *group,
                         struct error *err)
{
    const char *section = config_setting_name(group);

    if (!check_section(group, err))
        return locate(tree, group, err);
    for (int n = 0; n < config_setting_length(group); n++) {
        const config_setting_t *setting = config_setting_get_elem(group, (unsigned)n);
        size_t i = conf_key_find(section, config_setting_name(setting));
        bool ok = i < CONF_KEY_COUNT ? load_value(conf, tree, i, setting, err)
                                     : unknown_key(section, config_setting_name(setting), err);

        if (!ok)
            return locate(tree, setting, err);
    }
    return true;
}

static bool load_file(struct conf *conf, struct error *err)
{
    struct conf_tree tree;
    const config_setting_t *root;
    bool ok = true;

    if (!conf_tree_load(&tree, conf->path, err))
        return false;
    root = config_root_setting(&tree.config);
    for (int n = 0; ok && n < config_setting_length(root); n++)
        ok = load_section(conf, &tree, config_setting_get_elem(root, (unsigned)n), err);
    conf->origins->included.len = tree.included.len;
    conf->origins->included.ptr = arena_strndup(conf->origins->arena, tree.included.data, tree.included.len);
    conf_tree_release(&tree);
    return ok;
}

static bool load_files(struct conf *conf, struct error *err)
{
    for (size_t i = 0; i < CONF_KEY_COUNT; i++) {
        const struct conf_origin *origin = &conf->origins->of[i];

        if (!conf_key_names_file(&conf_keys[i]) || conf_named_resolve(conf, i, err))
            continue;
        return error_prefix(err, "%s:%u: %s.%s", origin->file, origin->line, conf_keys[i].section, conf_keys[i].name);
    }
    return true;
}

/* A broken rule is found at whichever of its two keys the file sets; defaults break none (a test holds that). */
static bool check_rules(const struct conf *conf, struct error *err)
{
    const struct conf_rule *rule = conf_rule_broken(conf);
    const struct conf_origin *origin;

    if (rule == NULL)
        return true;
    origin = &conf->origins->of[rule->lower];
    if (origin->file == NULL)
        origin = &conf->origins->of[rule->upper];
    CHECK(origin->file != NULL);
    conf_rule_explain(conf, rule, err);
    return error_prefix(err, "%s:%u", origin->file, origin->line);
}

static bool check_tls(const struct conf *conf, struct error *err)
{
    static const struct conf_tls_able able = CONF_TLS_ABLE;
    size_t at = conf_tls_wrong(conf, &able, err);

    return at == CONF_KEY_COUNT || error_prefix(err, "%s:%u", conf->origins->of[at].file, conf->origins->of[at].line);
}

/* Where the mode needs them there must be some; the defaults name none and need none. */
static bool check_redis_mode(const struct conf *conf, struct error *err)
{
    const struct conf_origin *origin = &conf->origins->of[CONF_INDEX_redis_mode];

    if (conf->redis_mode != CONF_MODE_SERVER && conf_node_count(conf->redis_nodes) == 0) {
        error_set(err, ERROR_CONF_INVALID,
                  "redis.mode: without redis.nodes nobody can be asked (expected \"host:port, "
                  "host:port\" there)");
    } else if (conf->redis_mode == CONF_MODE_SERVER && conf_node_count(conf->redis_nodes) > 0) {
        origin = &conf->origins->of[CONF_INDEX_redis_nodes];
        error_set(err, ERROR_CONF_INVALID,
                  "redis.nodes: nobody asks them while redis.mode is \"server\" (expected \"sentinel\" or \"cluster\" "
                  "there, or redis.host alone)");
    } else if (conf->redis_mode == CONF_MODE_CLUSTER && conf->redis_database != 0) {
        origin = &conf->origins->of[CONF_INDEX_redis_database];
        error_set(err, ERROR_CONF_INVALID, "redis.database: a cluster has only one (expected 0)");
    } else {
        return true;
    }
    return error_prefix(err, "%s:%u", origin->file, origin->line);
}

struct conf *conf_load(const char *path, struct error *err)
{
    struct conf *conf = create(path);

    if ((path && !load_file(conf, err)) || !load_files(conf, err) || !check_rules(conf, err) || !check_tls(conf, err) ||
        !check_redis_mode(conf, err))
        conf_destroy(&conf);
    return conf;
}

int64_t conf_retry_total(const struct conf *conf)
{
    int64_t sum = 0;

    for (size_t i = 0; i < conf->retry_delays.count; i++)
        sum += conf->retry_delays.ms[i];
    return sum;
}

bool conf_instance_valid(const char *name)
{
    return strlen(name) <= 40 &&
           name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")] == '\0';
}

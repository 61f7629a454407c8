#include "conf_rule.h"

#include "conf_value.h"

static const struct conf_rule rules[] = {
#define X(section, lower_, factor_, other, upper_)                                                                     \
    {.lower = CONF_INDEX_##section##_##lower_, .factor = (factor_), .upper = CONF_INDEX_##other##_##upper_},
#include "orderd/tbl/conf_rule.h"
#undef X
};

static int64_t number(const struct conf *conf, size_t i)
{
    return *(const int64_t *)conf_field_const(conf, i);
}

const struct conf_rule *conf_rule_broken(const struct conf *conf)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (number(conf, rules[i].lower) * rules[i].factor > number(conf, rules[i].upper))
            return &rules[i];
    }
    return NULL;
}

void conf_rule_explain(const struct conf *conf, const struct conf_rule *rule, struct error *err)
{
    const struct conf_key *lower = &conf_keys[rule->lower], *upper = &conf_keys[rule->upper];
    struct strbuf low = STRBUF_INIT, high = STRBUF_INIT, limit = STRBUF_INIT;
    int64_t most = number(conf, rule->upper) / rule->factor;

    conf_value_print(lower, conf_field_const(conf, rule->lower), &low);
    conf_value_print(upper, conf_field_const(conf, rule->upper), &high);
    conf_value_print(lower, &most, &limit);
    error_set(err, ERROR_CONF_INVALID, "%s.%s: %s is too much where %s.%s is %s (expected at most %s)", lower->section,
              lower->name, low.data, upper->section, upper->name, high.data, limit.data);
    strbuf_release(&low);
    strbuf_release(&high);
    strbuf_release(&limit);
}

/* tbl/conf_rule.h as data. */
#ifndef ORDERD_SERVICE_CONF_RULE_H
#define ORDERD_SERVICE_CONF_RULE_H

#include "conf_private.h"

struct conf_rule {
    enum conf_index lower, upper;
    int64_t factor;
};

/* The first rule that the snapshot breaks, or NULL. */
const struct conf_rule *conf_rule_broken(const struct conf *conf);

/* What is wrong, for a broken one; without file and line. */
void conf_rule_explain(const struct conf *conf, const struct conf_rule *rule, struct error *err);

#endif

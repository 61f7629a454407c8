/* What the commands of `orderctl order` share. */
#ifndef ORDERD_CTL_ORDER_H
#define ORDERD_CTL_ORDER_H

#include "ctl.h"

/* The operand, an order number; a mistake on the command line where it can be none. */
ORDERD_MUST_CHECK bool order_operand(struct ctl *ctl, const char **order_no, struct error *err);

#endif

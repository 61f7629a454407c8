/* The second half of `orderctl status`. */
#ifndef ORDERD_CTL_STATUS_H
#define ORDERD_CTL_STATUS_H

#include "ctl.h"

/* All replicas and activities, and what asks for a person, from /sale of the orderd that the operand names. Nothing
 * where it cannot be had: an older orderd does not know it. */
void status_print_fleet(struct ctl *ctl);

#endif

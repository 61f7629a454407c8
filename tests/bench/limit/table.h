/* The table that the bare pipeline fills: what an order needs and two unique keys, nothing for its later life. */
#ifndef BENCH_TABLE_H
#define BENCH_TABLE_H

#include "limit.h"

#define TABLE_INSERT "BEGIN;INSERT INTO bench_order(order_no,activity_id,user_id,sku_id,quantity,amount)VALUES"
#define TABLE_ROOM   200 /* bytes, at most, of a row in such a statement */

/* In the schema named by BENCH_SCHEMA. */
MYSQL *table_open(void);
void table_make(MYSQL *mysql);

/* What follows the rows: the units leave the stock row, last, and COMMIT. */
int table_finish(char *out, long units);

#endif

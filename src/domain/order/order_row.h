/* How a row of the orders table is written and read; shared by the files of this folder. */
#ifndef ORDERD_ORDER_ROW_H
#define ORDERD_ORDER_ROW_H

#include "orderd/order_store.h"

/* Who bought what: the columns that every new row begins with. */
#define ORDER_ROW_IDENTITY "order_no,activity_id,user_id,user_seq,sku_id,quantity,amount,shard,epoch"

/* In the order in which order_row_read takes them. */
#define ORDER_ROW_COLUMNS      ORDER_ROW_IDENTITY ",status"
#define ORDER_ROW_COLUMN_COUNT 10

/* false: not such columns. */
bool order_row_read(const struct slice *columns, unsigned count, struct order_row *out);

#endif

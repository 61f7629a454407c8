/* How fast MariaDB takes rows in batches, when nothing else has to happen. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "table.h"

struct share {
    pthread_t thread;
    long from, to, batch;
};

MYSQL *table_open(void)
{
    return limit_mysql(limit_env("BENCH_SCHEMA"));
}

void table_make(MYSQL *mysql)
{
    limit_sql(mysql,
              "DROP TABLE IF EXISTS bench_order, bench_stock;"
              "CREATE TABLE bench_order(id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY,order_no CHAR(32) CHARACTER SET "
              "ascii NOT NULL,activity_id BIGINT UNSIGNED NOT NULL,user_id BIGINT UNSIGNED NOT NULL,sku_id BIGINT "
              "UNSIGNED NOT NULL,quantity INT NOT NULL,amount BIGINT NOT NULL,created_at DATETIME(6) NOT NULL DEFAULT "
              "CURRENT_TIMESTAMP(6),UNIQUE KEY(order_no),UNIQUE KEY(activity_id,user_id));"
              "CREATE TABLE bench_stock(id INT PRIMARY KEY,stock BIGINT NOT NULL);"
              "INSERT INTO bench_stock VALUES(1,1000000000)",
              0);
}

int table_finish(char *out, long units)
{
    return sprintf(out, ";UPDATE bench_stock SET stock=stock-%ld WHERE id=1 AND stock>=%ld;COMMIT", units, units);
}

static void *insert(void *arg)
{
    const struct share *share = arg;
    MYSQL *mysql = table_open();
    char *text = malloc((size_t)share->batch * TABLE_ROOM + TABLE_ROOM);

    for (long at = share->from; at < share->to;) {
        char *end = text + sprintf(text, TABLE_INSERT);
        long n = 0;

        for (; n < share->batch && at < share->to; n++, at++)
            end += sprintf(end, "%s('%019ld',1,%ld,77,1,9900)", n ? "," : "", at, at);
        end += table_finish(end, n);
        limit_sql(mysql, text, (size_t)(end - text));
    }
    free(text);
    mysql_close(mysql);
    return NULL;
}

void limit_insert(char **arguments)
{
    long count = limit_number(arguments[0], 1, 100000000), batch = limit_number(arguments[1], 1, 10000),
         threads = limit_number(arguments[2], 1, 64);
    struct share shares[64];
    MYSQL *mysql = table_open();
    double began;

    table_make(mysql);
    began = limit_seconds();
    for (long i = 0; i < threads; i++) {
        shares[i] = (struct share){.from = count * i / threads, .to = count * (i + 1) / threads, .batch = batch};
        if (pthread_create(&shares[i].thread, NULL, insert, &shares[i]))
            limit_fail("no thread");
    }
    for (long i = 0; i < threads; i++)
        pthread_join(shares[i].thread, NULL);
    limit_print("insert", count, limit_seconds() - began);
    mysql_close(mysql);
}

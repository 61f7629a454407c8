/* client/db: which code a server's or the client library's error number stands for, by vendor. */
#include "testing.h"

#include "../../src/client/db/db_private.h"

#define BOTH(number, code)                                                                                             \
    {DB_MARIADB, number, "", ERROR_DB_##code},                                                                         \
    {                                                                                                                  \
        DB_MYSQL, number, "", ERROR_DB_##code                                                                          \
    }
#define ONLY_MARIADB(number, code)                                                                                     \
    {DB_MARIADB, number, "", ERROR_DB_##code},                                                                         \
    {                                                                                                                  \
        DB_MYSQL, number, "", ERROR_DB_UNKNOWN                                                                         \
    }
#define ONLY_MYSQL(number, code)                                                                                       \
    {DB_MYSQL, number, "", ERROR_DB_##code},                                                                           \
    {                                                                                                                  \
        DB_MARIADB, number, "", ERROR_DB_UNKNOWN                                                                       \
    }

static const struct {
    enum db_vendor vendor;
    unsigned number;
    const char *text;
    enum error_code code;
} table[] = {
    BOTH(2006, LOST),
    BOTH(2013, LOST),
    BOTH(2000, LOST),
    BOTH(2055, LOST),
    BOTH(1053, LOST), /* the server is shutting down in the middle */
    BOTH(1317, LOST), /* KILL QUERY: a COMMIT that it meets may have happened */
    BOTH(1180, LOST),
    ONLY_MARIADB(1927, LOST),
    ONLY_MYSQL(3169, LOST),
    ONLY_MYSQL(4031, LOST), /* in MariaDB something about triggers */
    ONLY_MYSQL(4081, LOST),
    ONLY_MYSQL(4082, LOST),
    BOTH(2002, AWAY),
    BOTH(2003, AWAY),
    BOTH(2005, AWAY),
    BOTH(1040, AWAY),
    BOTH(1203, AWAY),
    BOTH(1226, AWAY),
    BOTH(1129, AWAY),
    BOTH(1047, AWAY), /* Galera: the node is not ready */
    ONLY_MYSQL(3032, AWAY),
    ONLY_MYSQL(6400, AWAY), /* the same in newer words */
    ONLY_MYSQL(3168, AWAY),
    ONLY_MYSQL(3781, AWAY), /* this and the six below: Group Replication lets nothing begin */
    ONLY_MYSQL(3782, AWAY),
    ONLY_MYSQL(3783, AWAY),
    ONLY_MYSQL(3796, AWAY),
    ONLY_MYSQL(3797, AWAY),
    ONLY_MYSQL(3798, AWAY),
    ONLY_MYSQL(3799, AWAY),
    BOTH(1213, CONFLICT),
    BOTH(1205, CONFLICT),
    BOTH(1020, CONFLICT), /* MariaDB from 11.6.2 on: the row changed since the snapshot */
    BOTH(1412, CONFLICT),
    BOTH(1615, CONFLICT),
    ONLY_MYSQL(3101, CONFLICT),
    BOTH(1792, READ_ONLY),
    BOTH(1836, READ_ONLY),
    ONLY_MYSQL(3989, READ_ONLY), /* the schema alone */
    {DB_MARIADB, 1290, "running with the --read-only option", ERROR_DB_READ_ONLY},
    {DB_MYSQL, 1290, "running with the --super-read-only option", ERROR_DB_READ_ONLY},
    {DB_MYSQL, 1290, "running with the --secure-file-priv option", ERROR_DB_SETUP},
    BOTH(1021, RESOURCE),
    BOTH(1114, RESOURCE),
    BOTH(1030, RESOURCE),
    BOTH(1206, RESOURCE),
    BOTH(1637, RESOURCE),
    ONLY_MARIADB(1969, RESOURCE),
    ONLY_MYSQL(3024, RESOURCE),
    ONLY_MYSQL(3100, RESOURCE), /* Group Replication lets nothing be committed */
    BOTH(1062, DUPLICATE),
    BOTH(1022, DUPLICATE),
    BOTH(1586, DUPLICATE),
    ONLY_MARIADB(4025, CHECK),
    ONLY_MYSQL(3819, CHECK),
    BOTH(1690, CHECK),
    BOTH(1048, DATA),
    BOTH(1364, SETUP), /* somebody's new column without a default: no order's fault */
    BOTH(1036, READ_ONLY),
    BOTH(1874, READ_ONLY),
    BOTH(1135, AWAY),
    BOTH(1598, RESOURCE),
    BOTH(1812, SETUP),
    ONLY_MARIADB(1932, SETUP),
    BOTH(1153, DATA),
    BOTH(1264, DATA),
    BOTH(1300, DATA),
    BOTH(1366, DATA),
    BOTH(1406, DATA),
    BOTH(1452, DATA),
    BOTH(1644, DATA),
    BOTH(2020, DATA),
    ONLY_MYSQL(3140, DATA),
    BOTH(1044, SETUP),
    BOTH(1045, SETUP),
    BOTH(1049, SETUP),
    BOTH(1054, SETUP),
    BOTH(1064, SETUP),
    BOTH(1142, SETUP),
    BOTH(1146, SETUP),
    BOTH(1193, SETUP),
    BOTH(1227, SETUP),
    BOTH(1665, SETUP),
    BOTH(2026, SETUP),
    BOTH(2059, SETUP),
    ONLY_MYSQL(3118, SETUP),
    ONLY_MYSQL(3955, SETUP),
    BOTH(3159, SETUP),
    ONLY_MARIADB(4151, SETUP),
    BOTH(1, UNKNOWN),
    BOTH(1105, UNKNOWN),
    BOTH(9999, UNKNOWN),
};

START_TEST(number)
{
    enum error_code code = db_error_code(table[_i].vendor, table[_i].number, table[_i].text);

    ck_assert_msg(code == table[_i].code, "%s %u is %s, not %s", table[_i].vendor == DB_MARIADB ? "MariaDB" : "MySQL",
                  table[_i].number, error_code_name(code), error_code_name(table[_i].code));
}
END_TEST

/* What the lanes build on: each code's class. */
START_TEST(class_of_code)
{
    static const struct {
        enum error_code code;
        enum error_class class_;
    } classes[] = {
        {ERROR_DB_LOST, ERROR_CLASS_OUTAGE},        {ERROR_DB_AWAY, ERROR_CLASS_OUTAGE},
        {ERROR_DB_READ_ONLY, ERROR_CLASS_OUTAGE},   {ERROR_DB_RESOURCE, ERROR_CLASS_OUTAGE},
        {ERROR_DB_CONFLICT, ERROR_CLASS_TRANSIENT}, {ERROR_DB_DUPLICATE, ERROR_CLASS_PERMANENT},
        {ERROR_DB_CHECK, ERROR_CLASS_PERMANENT},    {ERROR_DB_DATA, ERROR_CLASS_PERMANENT},
        {ERROR_DB_SETUP, ERROR_CLASS_SETUP},        {ERROR_DB_UNKNOWN, ERROR_CLASS_UNKNOWN},
    };

    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        struct error err = {.code = classes[i].code};

        ck_assert_int_eq(error_class_of(&err), classes[i].class_);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("db_error");
    TCase *t = tcase_create("numbers");

    tcase_add_loop_test(t, number, 0, sizeof table / sizeof *table);
    tcase_add_test(t, class_of_code);
    suite_add_tcase(s, t);
    return testing_main(s);
}

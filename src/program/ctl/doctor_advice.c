/* orderctl doctor: what to do about a server that could not be looked at. "See that it is up" is no help to somebody
 * who was answered, so what the answer was decides. */
#include "doctor.h"

#include <string.h>

#define MYSQL_LOGIN                                                                                                    \
    "let mysql.user and mysql.password_file be those of an account that may log in from this machine "                 \
    "(docs/accounts/mysql-1-accounts.sql)"
#define MYSQL_RIGHTS "give the account its rights: docs/accounts/mysql-2-rights.sql"
#define REDIS_LOGIN                                                                                                    \
    "let redis.user and redis.password_file be those of an account that this server has (docs/accounts/redis.acl)"
#define BROKER_LOGIN                                                                                                   \
    "let broker.user and broker.password_file be those of an account that this broker has "                            \
    "(docs/accounts/rabbitmq.json)"
#define BROKER_VHOST                                                                                                   \
    "see that broker.vhost is right, make it, and give the account rights to it (docs/accounts/rabbitmq.json)"

/* The first row whose words are in the sentence counts; "": the sentence says itself what to do. */
static const struct {
    enum doctor_check server;
    const char *words, *advice;
} answers[] = {
    {DOCTOR_MYSQL_SERVER, "TLS handshake", ""},
    {DOCTOR_MYSQL_SERVER, "asked for a certificate", ""},
    {DOCTOR_MYSQL_SERVER, "(error 1045,", MYSQL_LOGIN},
    {DOCTOR_MYSQL_SERVER, "(error 1130,", MYSQL_LOGIN},
    {DOCTOR_MYSQL_SERVER, "(error 1698,", MYSQL_LOGIN},
    /* Rights are given table by table: before the first migration there is nothing to give. */
    {DOCTOR_MYSQL_SERVER, "(error 1044,", MYSQL_RIGHTS ", once the migrations are applied (by orderd_admin)"},
    {DOCTOR_MYSQL_SERVER, "(error 1142,", MYSQL_RIGHTS},
    {DOCTOR_MYSQL_SERVER, "(error 1143,", MYSQL_RIGHTS},
    {DOCTOR_MYSQL_SERVER, "(error 1049,",
     "see that mysql.database is right, or make it: docs/accounts/mysql-1-accounts.sql"},
    {DOCTOR_MYSQL_SERVER, "(error 1040,", "raise the server's max_connections, or see who has them all"},
    {DOCTOR_REDIS_SERVER, "TLS handshake", ""},
    {DOCTOR_REDIS_SERVER, "asked for a certificate", ""},
    {DOCTOR_REDIS_SERVER, ": WRONGPASS", REDIS_LOGIN},
    {DOCTOR_REDIS_SERVER, ": NOAUTH", REDIS_LOGIN},
    {DOCTOR_REDIS_SERVER, "ERR AUTH", REDIS_LOGIN},
    {DOCTOR_REDIS_SERVER, ": LOADING", "wait until it has read its data"},
    {DOCTOR_REDIS_SERVER, ": BUSY", "wait for the script that runs, or end it with SCRIPT KILL"},
    {DOCTOR_REDIS_SERVER, "max number of clients", "raise the server's maxclients, or see who has them all"},
    {DOCTOR_BROKER_SERVER, "TLS handshake", ""},
    {DOCTOR_BROKER_SERVER, "asked for a certificate", ""},
    {DOCTOR_BROKER_SERVER, " with 530: ", BROKER_VHOST},
    {DOCTOR_BROKER_SERVER, " refused the login of user ", BROKER_LOGIN},
};

static bool nothing_answered(const struct error *err)
{
    switch (err->code) {
    case ERROR_DB_AWAY:
    case ERROR_DB_LOST:
    case ERROR_KV_AWAY:
    case ERROR_KV_LOST:
    case ERROR_BROKER_AWAY:
        return true;
    default:
        return false;
    }
}

const char *doctor_advice(enum doctor_check server, const struct error *err)
{
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        if (answers[i].server == server && strstr(err->text, answers[i].words))
            return answers[i].advice;
    }
    return nothing_answered(err) ? NULL : "";
}

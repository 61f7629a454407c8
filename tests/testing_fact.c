#include "testing_fact.h"

#include <string.h>

#include "../src/client/broker/library.h"
#include "testing.h"

enum source { LIBRABBITMQ };

/* As major * 10000 + minor * 100 + patch. */
static int version_of(enum source source)
{
    unsigned long v = 0;

    switch (source) {
    case LIBRABBITMQ:
        v = amqp_version_number();
        return (int)((v >> 24) * 10000 + (v >> 16 & 255) * 100 + (v >> 8 & 255));
    }
    return 0;
}

bool testing_fact(enum testing_fact fact)
{
    static const struct {
        enum source of;
        int since;
    } facts[] = {
#define X(name, of, since) {of, since},
        TESTING_FACTS(X)
#undef X
    };

    return version_of(facts[fact].of) >= facts[fact].since;
}

bool testing_mysql(void)
{
    return strcmp(testing_env("ORDERD_SQL_CLIENT"), "mysql") == 0;
}

const char *testing_status_schema(void)
{
    return testing_mysql() ? "performance_schema" : "information_schema";
}

const char *testing_demoted(void)
{
    return testing_mysql() ? "super_read_only" : "read_only";
}

#include "testing_fact.h"

#include "../src/client/broker/library.h"

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

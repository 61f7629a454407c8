/* Just enough of libconfig's grammar to see what libconfig itself hides: integers that it cuts to 32 bits without a
 * word, comments that never end (it takes them as ending with the file), and include files. Its scanner.l is the
 * source of the rules. */
#ifndef ORDERD_SERVICE_CONF_LEXER_H
#define ORDERD_SERVICE_CONF_LEXER_H

#include "orderd/strbuf.h"

enum conf_token {
    CONF_TOKEN_END,
    CONF_TOKEN_NAME,
    CONF_TOKEN_NUMBER,
    CONF_TOKEN_STRING, /* text is without the quotes, escapes as written */
    CONF_TOKEN_INCLUDE,
    CONF_TOKEN_OPEN,    /* { */
    CONF_TOKEN_CLOSE,   /* } */
    CONF_TOKEN_OTHER,   /* one byte of anything else */
    CONF_TOKEN_ENDLESS, /* a comment without its end; the last token */
};

struct conf_lexer {
    const char *at, *end;
    unsigned line; /* of the token's first byte, from 1 */
    unsigned next_line;
    struct slice text;
};

void conf_lexer_init(struct conf_lexer *lexer, struct slice source);
enum conf_token conf_lexer_next(struct conf_lexer *lexer);

#endif

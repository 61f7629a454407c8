#include "orderd/stock.h"

#include <string.h>

#define X(script, name) extern const char stock_lua_##name[];
#include "orderd/tbl/script.h"
#undef X

static const struct kv_script scripts[STOCK_SCRIPT_COUNT] = {
#define ONLY_READS(script) ((script) == STOCK_SCRIPT_AUDIT || (script) == STOCK_SCRIPT_LOOK)
#define X(script, name)    [STOCK_SCRIPT_##script] = {#name, stock_lua_##name, ONLY_READS(STOCK_SCRIPT_##script)},
#include "orderd/tbl/script.h"
#undef X
};

static const struct {
    enum stock_script script;
    int code;
    const char *name, *sentence;
} codes[] = {
#define X(script, code, number, name, sentence) {STOCK_SCRIPT_##script, number, name, sentence},
#include "orderd/tbl/script_code.h"
#undef X
};

static const char *const gone_names[STOCK_GONE_COUNT] = {
    "",
#define X(gone, name) name,
#include "orderd/tbl/stock_gone.h"
#undef X
};

const struct kv_script *stock_script(enum stock_script script)
{
    return &scripts[script];
}

static int find(enum stock_script script, int code)
{
    for (int i = 0; i < (int)(sizeof codes / sizeof *codes); i++) {
        if (codes[i].script == script && codes[i].code == code)
            return i;
    }
    return -1;
}

const char *stock_code_name(enum stock_script script, int code)
{
    int row = find(script, code);

    return row < 0 ? NULL : codes[row].name;
}

const char *stock_code_sentence(enum stock_script script, int code)
{
    int row = find(script, code);

    return row < 0 ? NULL : codes[row].sentence;
}

const char *stock_gone_name(enum stock_gone gone)
{
    return gone_names[gone];
}

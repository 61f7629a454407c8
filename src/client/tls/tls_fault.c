/* Sentences. No OpenSSL here. */
#include "orderd/tls.h"

#include <stdio.h>
#include <string.h>

#include "orderd/strbuf.h"

enum kind { SETUP, AWAY };

static const struct {
    enum kind kind;
    const char *sentence;
} faults[TLS_FAULT_COUNT] = {
#define X(id, class_, sentence_) [TLS_FAULT_##id] = {class_, sentence_},
#include "orderd/tbl/tls_fault.h"
#undef X
};

void tls_note(struct tls_session *s, enum tls_fault fault, const char *detail)
{
    if (s->fault != TLS_FAULT_NONE)
        return;
    s->fault = fault;
    snprintf(s->detail, sizeof s->detail, "%s", detail);
}

static const char *word(const struct tls_session *s, const char *name, size_t len)
{
    const struct {
        const char *name, *value;
    } words[] = {{"group", s->peer.group}, {"host", s->peer.host}, {"detail", s->detail}};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strlen(words[i].name) == len && memcmp(words[i].name, name, len) == 0)
            return words[i].value;
    }
    return "";
}

static void place(const struct tls_session *s, const char *where, const char *key, struct strbuf *out)
{
    if (where)
        strbuf_add_str(out, where);
    else
        strbuf_addf(out, "%s.%s", s->peer.group, key);
}

static void add_word(const struct tls_session *s, struct slice name, struct strbuf *out)
{
    if (slice_is(name, "named"))
        place(s, s->peer.named, "host", out);
    else if (slice_is(name, "ported"))
        place(s, s->peer.ported, "port", out);
    else
        strbuf_add_str(out, word(s, name.ptr, name.len));
}

static void expand(const struct tls_session *s, const char *sentence, struct strbuf *out)
{
    while (*sentence) {
        size_t plain = strcspn(sentence, "{"), name;

        strbuf_add(out, sentence, plain);
        sentence += plain;
        if (!*sentence)
            break;
        name = strcspn(++sentence, "}");
        add_word(s, (struct slice){sentence, name}, out);
        sentence += name + 1;
    }
}

bool tls_tell(const struct tls_session *s, struct error *err)
{
    enum tls_fault fault = s->fault == TLS_FAULT_NONE ? TLS_FAULT_FAILED : s->fault;
    struct strbuf text = STRBUF_INIT;

    expand(s, faults[fault].sentence, &text);
    error_set(err, faults[fault].kind == SETUP ? s->peer.setup : s->peer.away, "%s: %s", s->peer.name, text.data);
    strbuf_release(&text);
    return false;
}

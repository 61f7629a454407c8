/* What orderctl reads of a running orderd: an HTTP answer, and the documents of /sale and /sale/history in it; and what
 * one replica reads of another's row. */
#include "../../src/program/ctl/endpoint.c"
#include "fuzz.h"
#include "orderd/replica.h"
#include "orderd/sale_view.h"

static void answer(struct slice bytes)
{
    struct strbuf text = STRBUF_INIT, body = STRBUF_INIT;
    struct error err = {0};
    int status = 0;

    strbuf_add_slice(&text, bytes);
    if (take_body(&text, &status, &body)) {
        CHECK(status >= 100 && status <= 999 && body.len <= bytes.len);
        json_decref(parsed(&body, status, &err));
    }
    strbuf_release(&text);
    strbuf_release(&body);
}

static void sale(struct slice bytes)
{
    struct error err = {0};
    struct sale_view *v = sale_view_parse(bytes.ptr, bytes.len, &err);

    CHECK(v != NULL || err.code == ERROR_ADMIN_AWAY);
    for (size_t i = 0; v && i < v->activity_count; i++)
        CHECK(v->activities[i].title && v->activities[i].state && sale_view_activity(v, v->activities[i].id));
    sale_view_destroy(&v);
}

static void history(struct slice bytes)
{
    struct error err = {0};
    struct sale_history *h = sale_history_parse(bytes.ptr, bytes.len, &err);
    double left[16];
    int64_t span;

    if (h)
        CHECK(sale_history_left(h, 1001, left, 16, &span) <= 16);
    sale_history_destroy(&h);
}

static void report(struct slice bytes)
{
    static struct replica_report r, back;
    struct strbuf json = STRBUF_INIT;

    replica_report_parse(bytes, &r);
    replica_report_json(&r, &json);
    replica_report_parse((struct slice){json.data, json.len}, &back);
    CHECK(memcmp(r.counts, back.counts, sizeof r.counts) == 0 && r.window_ms == back.window_ms);
    CHECK(memcmp(r.latency, back.latency, sizeof r.latency) == 0);
    strbuf_release(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice bytes = size ? fuzz_slice(data, size) : slice_of("");

    answer(bytes);
    sale(bytes);
    history(bytes);
    report(bytes);
    return 0;
}

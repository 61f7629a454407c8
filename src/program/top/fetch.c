/* One document, or a sentence why not. */
#include "orderd/top.h"

static void refuse(int status, struct error *err)
{
    if (status == 404)
        error_set(err, ERROR_ADMIN_AWAY,
                  "this orderd does not know /sale: it is older than orderctl " ORDERD_VERSION
                  " (`orderctl status` shows what it knows)");
    else
        error_set(err, ERROR_ADMIN_AWAY, "orderd answers to /sale with HTTP status %d", status);
}

struct sale_view *top_fetch(const struct top *top, int stop_fd, struct strbuf *text, struct error *err)
{
    struct strbuf body = STRBUF_INIT;
    struct sale_view *sale = NULL;
    int status = 0;

    if (!top->ask(top->arg, "/sale", stop_fd, &status, &body, err))
        ; /* err says it */
    else if (status != 200)
        refuse(status, err);
    else
        sale = sale_view_parse(body.data ? body.data : "", body.len, err);
    if (sale && text)
        strbuf_add(text, body.data, body.len);
    strbuf_release(&body);
    return sale;
}

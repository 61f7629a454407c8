/* What `?` shows. */
#include "layout.h"

static const struct {
    const char *name, *text;
} lines[] = {
    {"q", "quit, as Ctrl-C does"},
    {"p, space", "hold the numbers still, and go on"},
    {"up, down", "the activity above or below (also k, j)"},
    {"Ctrl-L", "draw everything again"},
    {"", ""},
    {"left", "units that can be sold now; % of all"},
    {"sold out", "when, if it goes on at this rate"},
    {"unpaid", "units that wait for payment; due soon: in the next 5 minutes"},
    {"drift", "units that Redis and MySQL disagree about, beyond what is on its"},
    {"", "way: must be 0, else `orderctl reconcile`"},
    {"p50, p99", "reservation to commit: half of the orders took no longer, 99 %"},
    {"backlog", "messages in queues, and when they are done"},
    {"relay", "local messages: how late is the oldest"},
    {"dead", "dead letters that nobody has decided about"},
    {"-", "not known now"},
};

static void add(struct sheet *p, int weight, const char *name, const char *text)
{
    sheet_line(p, weight, 0, "");
    sheet_field(p, FRAME_STRONG, "%s", name);
    p->column = SHEET_INDENT + 1;
    frame_put(p->frame, p->rows - 1, p->column, p->frame->width, FRAME_PLAIN, text);
}

struct frame *top_layout_help(int width, int height, bool utf8)
{
    int weight = 500;
    struct sheet sheet;
    struct frame *f;

    sheet_begin(&sheet, width, utf8);
    sheet_line(&sheet, 1000, 0, "");
    sheet_field(&sheet, FRAME_STRONG, "orderctl top " ORDERD_VERSION);
    sheet_field(&sheet, FRAME_DIM, "any key: back");
    sheet_blank(&sheet);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (!lines[i].text[0])
            sheet_blank(&sheet);
        else
            add(&sheet, weight--, lines[i].name, lines[i].text);
    }
    f = sheet_choose(&sheet, height);
    sheet_end(&sheet);
    return f;
}

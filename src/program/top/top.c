/* The loop: news, keys, sizes, the clock; after each of them the frame is laid out anew. */
#include "orderd/top.h"

#include <stdlib.h>
#include <string.h>

#include "asker.h"
#include "layout.h"
#include "orderd/check.h"
#include "orderd/clock.h"
#include "terminal.h"

/* Clocks on the screen go on where no news comes. */
#define TICK_MS 1000

/* So long the daemon may say the same: it reads its servers every second. */
#define OLD_MS 5000

struct live {
    const struct top *top;
    struct asker *asker;
    struct terminal *terminal;
    struct sale_view *sale;
    struct sale_history *history;
    struct top_past past;
    int64_t answered_at; /* monotonic: the last answer */
    int64_t changed_at;  /* monotonic: the last answer that was of another instant */
    struct error why;    /* where the last attempt failed */
    int64_t paused_at;   /* monotonic; 0: it is not */
    int64_t activity;
    bool help, done;
};

/* ---- news ---- */

static void take_sale(struct live *l, struct sale_view *sale)
{
    error_clear(&l->why);
    if (!l->sale || sale->at != l->sale->at) {
        l->changed_at = clock_mono_ms();
        top_past_add(&l->past, sale);
    }
    sale_view_destroy(&l->sale);
    l->sale = sale;
}

static void take_news(struct live *l)
{
    struct asker_news news;

    if (l->paused_at || !asker_take(l->asker, &news))
        return;
    if (news.answered_at)
        l->answered_at = news.answered_at;
    if (news.sale)
        take_sale(l, news.sale);
    else
        l->why = news.why;
    if (news.history) {
        sale_history_destroy(&l->history);
        l->history = news.history;
    }
}

/* ---- what is shown ---- */

static struct top_state state_of(const struct live *l)
{
    int64_t now = l->paused_at ? l->paused_at : clock_mono_ms(), old = now - l->changed_at;
    struct top_state s = {
        .sale = l->sale,
        .history = l->history,
        .past = &l->past,
        .now = l->sale->at,
        .interval_ms = l->top->interval_ms,
        .why = l->why.text,
        .activity = l->activity,
        .live = true,
        .paused = l->paused_at != 0,
    };

    if (s.now != SALE_UNKNOWN)
        s.now += old;
    if (l->why.code != ERROR_NONE)
        s.away_ms = now - l->answered_at + 1;
    else if (old > OLD_MS && old > 3 * l->sale->interval_ms && old > 2 * l->top->interval_ms)
        s.old_ms = old;
    return s;
}

/* false: there is no terminal any more. */
static bool draw(struct live *l)
{
    struct top_state s = state_of(l);
    struct frame *f;
    int width, height;
    bool ok;

    terminal_size(l->terminal, &width, &height);
    f = l->help ? top_layout_help(width, height, l->top->utf8) : top_layout(&s, width, height, l->top->utf8);
    ok = terminal_draw(l->terminal, f);
    frame_destroy(&f);
    return ok;
}

/* ---- keys ---- */

static void press(struct live *l, enum terminal_key key)
{
    struct top_state s = state_of(l);

    if (key == KEY_QUIT)
        l->done = true;
    else if (key == KEY_REDRAW)
        terminal_forget(l->terminal);
    else if (l->help || key == KEY_HELP)
        l->help = !l->help;
    else if (key == KEY_PAUSE)
        l->paused_at = l->paused_at ? 0 : clock_mono_ms();
    else if (key == KEY_UP || key == KEY_DOWN)
        l->activity = top_step(&s, key == KEY_UP ? -1 : 1);
}

static void press_all(struct live *l)
{
    enum terminal_key key;

    while (!l->done && (key = terminal_key(l->terminal)) != KEY_NONE)
        press(l, key);
}

static void go_round(struct live *l)
{
    int news = l->paused_at ? -1 : asker_fd(l->asker); /* the latest waits for us */
    enum terminal_event event = terminal_wait(l->terminal, news, TICK_MS);

    if (event == TERMINAL_END || event == TERMINAL_KILLED) {
        l->done = true;
        return;
    }
    if (event == TERMINAL_KEYS)
        press_all(l);
    take_news(l);
    if (!l->done && !draw(l))
        l->done = true;
}

/* The terminal is given back before all that may take a moment. */
static void run(struct live *l)
{
    l->asker = asker_start(l->top);
    l->done = !draw(l);
    while (!l->done)
        go_round(l);
    terminal_close(&l->terminal);
    asker_stop(&l->asker);
    terminal_die();
}

bool top_live(const struct top *top, struct error *err)
{
    struct live l = {.top = top, .activity = top->activity};
    struct sale_view *first = top_fetch(top, -1, NULL, err);
    bool opened;

    if (!first)
        return false;
    l.answered_at = clock_mono_ms();
    take_sale(&l, first);
    l.terminal = terminal_open(top->color ? FRAME_COLOR : FRAME_MONO, err);
    opened = l.terminal != NULL;
    if (opened)
        run(&l);
    sale_view_destroy(&l.sale);
    sale_history_destroy(&l.history);
    return opened;
}

/* ---- one frame ---- */

static struct sale_history *fetch_history(const struct top *top)
{
    struct strbuf body = STRBUF_INIT;
    struct sale_history *history = NULL;
    struct error ignored = {0};
    int status = 0;

    if (top->ask(top->arg, "/sale/history", -1, &status, &body, &ignored) && status == 200 && body.len)
        history = sale_history_parse(body.data, body.len, &ignored);
    strbuf_release(&body);
    return history;
}

bool top_once(const struct top *top, int width, struct strbuf *out, struct error *err)
{
    struct sale_view *sale = top_fetch(top, -1, NULL, err);
    struct top_past past = {.count = 0};
    struct top_state s = {.sale = sale, .past = &past, .why = "", .activity = top->activity};
    struct sale_history *history;
    struct frame *f;

    if (!sale)
        return false;
    history = fetch_history(top);
    s.history = history;
    s.now = sale->at;
    if (sale->at >= 0 && clock_wall_ms() - sale->at > OLD_MS)
        s.old_ms = clock_wall_ms() - sale->at;
    f = top_layout(&s, width, 0, top->utf8);
    for (int row = 0; row < f->height; row++) {
        frame_print_row(f, row, top->color ? FRAME_COLOR : FRAME_TEXT, out);
        strbuf_add_char(out, '\n');
    }
    frame_destroy(&f);
    sale_history_destroy(&history);
    sale_view_destroy(&sale);
    return true;
}

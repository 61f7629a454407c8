#include "progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "orderd/clock.h"

#define BAR_WIDTH   24
#define TERMINAL_MS 200
#define LINES_MS    5000

void progress_begin(struct progress *p, const char *what)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

    *p = (struct progress){.what = what};
    p->terminal = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
    p->color = p->terminal && !(no_color && no_color[0]);
    p->next_ms = clock_mono_ms() + (p->terminal ? 0 : LINES_MS);
}

static int columns(void)
{
    struct winsize size;

    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

static void draw(const struct progress *p, int percent, const char *text)
{
    char bar[BAR_WIDTH + 1];
    int room = columns() - (int)strlen(p->what) - BAR_WIDTH - 12;

    for (int i = 0; i < BAR_WIDTH; i++)
        bar[i] = i * 100 < percent * BAR_WIDTH ? '#' : '.';
    bar[BAR_WIDTH] = '\0';
    fprintf(stderr, "\r\033[K%s [%s%s%s] %3d%% %.*s", p->what, p->color ? "\033[32m" : "", bar,
            p->color ? "\033[0m" : "", percent, room > 0 ? room : 0, text);
    fflush(stderr);
}

void progress_show(struct progress *p, int64_t done, int64_t total, const char *fmt, ...)
{
    int64_t now = clock_mono_ms();
    int percent = total > 0 ? (int)(done >= total ? 100 : done * 100 / total) : 0;
    char text[256];
    va_list ap;

    if (now < p->next_ms)
        return;
    p->next_ms = now + (p->terminal ? TERMINAL_MS : LINES_MS);
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (p->terminal)
        draw(p, percent, text);
    else
        fprintf(stderr, "orderload: %s %d%% %s\n", p->what, percent, text);
    p->drawn = true;
}

void progress_end(struct progress *p)
{
    if (p->terminal && p->drawn)
        fputs("\r\033[K", stderr);
    p->drawn = false;
}

#include "frame.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"

static struct frame_cell *cell_at(const struct frame *f, int row, int column)
{
    CHECK(row >= 0 && row < f->height && column >= 0 && column < f->width);
    return &f->cells[(size_t)row * (size_t)f->width + (size_t)column];
}

struct frame *frame_create(int width, int height, bool utf8)
{
    struct frame *f = check_calloc(1, sizeof *f);

    CHECK(width > 0 && height >= 0);
    f->width = width;
    f->utf8 = utf8;
    frame_grow(f, height);
    return f;
}

void frame_destroy(struct frame **frame)
{
    if (*frame)
        free((*frame)->cells);
    free(*frame);
    *frame = NULL;
}

void frame_grow(struct frame *f, int height)
{
    size_t from = (size_t)f->height * (size_t)f->width, to = (size_t)height * (size_t)f->width;

    if (height <= f->height)
        return;
    f->cells = check_realloc(f->cells, to * sizeof *f->cells);
    for (size_t i = from; i < to; i++)
        f->cells[i] = (struct frame_cell){L' ', FRAME_PLAIN};
    f->height = height;
}

/* ---- characters ---- */

/* The next one as it is shown, its columns, and its bytes in *len. */
static int character(const struct frame *f, const char *text, size_t *len, wchar_t *c)
{
    mbstate_t state = {0};
    size_t n = mbrtowc(c, text, strlen(text), &state);
    int columns = n == 0 || n > MB_LEN_MAX ? -1 : wcwidth(*c);

    *len = n == 0 || n > MB_LEN_MAX ? 1 : n;
    if (columns >= 0 && columns <= 2 && (f->utf8 || *c < 0x80 || columns == 0))
        return columns;
    *c = L'?';
    return 1;
}

int frame_columns(const struct frame *f, const char *text)
{
    int columns = 0;
    size_t len;
    wchar_t c;

    for (; *text; text += len) {
        int more = character(f, text, &len, &c);

        columns = columns < INT_MAX - more ? columns + more : columns;
    }
    return columns;
}

static void put_cell(struct frame *f, int row, int column, enum frame_tint tint, wchar_t c, int columns)
{
    *cell_at(f, row, column) = (struct frame_cell){c, (unsigned char)tint};
    if (columns == 2)
        *cell_at(f, row, column + 1) = (struct frame_cell){0, (unsigned char)tint};
}

static int put_dots(struct frame *f, int row, int column, int end, enum frame_tint tint)
{
    if (column < end)
        put_cell(f, row, column++, tint, f->utf8 ? L'\u2026' : L'~', 1);
    return column;
}

int frame_put(struct frame *f, int row, int column, int end, enum frame_tint tint, const char *text)
{
    size_t len;
    bool cut;
    wchar_t c;

    if (end > f->width)
        end = f->width;
    cut = frame_columns(f, text) > end - column;
    for (; *text; text += len) {
        int columns = character(f, text, &len, &c);

        if (column + columns > end - cut)
            break;
        if (columns > 0)
            put_cell(f, row, column, tint, c, columns);
        column += columns;
    }
    return cut ? put_dots(f, row, column, end, tint) : column;
}

void frame_set(struct frame *f, int row, int column, enum frame_tint tint, wchar_t c)
{
    put_cell(f, row, column, tint, c, 1);
}

void frame_copy_row(struct frame *to, int to_row, const struct frame *from, int from_row)
{
    CHECK(to->width == from->width);
    memcpy(cell_at(to, to_row, 0), cell_at(from, from_row, 0), (size_t)to->width * sizeof *to->cells);
}

bool frame_row_equal(const struct frame *a, const struct frame *b, int row)
{
    for (int i = 0; i < a->width; i++) {
        const struct frame_cell *x = cell_at(a, row, i), *y = cell_at(b, row, i);

        if (x->c != y->c || x->tint != y->tint)
            return false;
    }
    return true;
}

/* ---- out ---- */

static void add_tint(struct strbuf *out, unsigned char tint, enum frame_style style)
{
    static const char *const sgr[FRAME_TINT_COUNT][2] = {
        [FRAME_PLAIN] = {"", ""},         [FRAME_DIM] = {"", "2"},        [FRAME_STRONG] = {"1", "1"},
        [FRAME_GOOD] = {"", "32"},        [FRAME_WARN] = {"1", "33"},     [FRAME_BAD] = {"1", "1;31"},
        [FRAME_ALARM] = {"7", "1;37;41"}, [FRAME_CHOSEN] = {"1", "1;36"},
    };
    const char *text = sgr[tint][style == FRAME_COLOR];

    if (style != FRAME_TEXT)
        strbuf_addf(out, "\033[0%s%sm", text[0] ? ";" : "", text);
}

static void add_character(struct strbuf *out, wchar_t c)
{
    mbstate_t state = {0};
    char bytes[MB_LEN_MAX];
    size_t len = wcrtomb(bytes, c, &state);

    strbuf_add(out, len <= sizeof bytes ? bytes : "?", len <= sizeof bytes ? len : 1);
}

static int used_columns(const struct frame *f, int row, enum frame_style style)
{
    int used = f->width;

    while (used > 0) {
        const struct frame_cell *cell = cell_at(f, row, used - 1);

        if (cell->c != L' ' || (style != FRAME_TEXT && cell->tint == FRAME_ALARM))
            break;
        used--;
    }
    return used;
}

int frame_print_row(const struct frame *f, int row, enum frame_style style, struct strbuf *out)
{
    int used = used_columns(f, row, style);
    unsigned char tint = FRAME_PLAIN;

    for (int i = 0; i < used; i++) {
        const struct frame_cell *cell = cell_at(f, row, i);

        if (cell->tint != tint)
            add_tint(out, cell->tint, style);
        tint = cell->tint;
        if (cell->c)
            add_character(out, cell->c);
    }
    if (tint != FRAME_PLAIN)
        add_tint(out, FRAME_PLAIN, style);
    return used;
}

#include "graph.h"

#include <math.h>

#define STEPS 8

/* What fills 0 to 8 eighths of a character from below. */
static wchar_t column_block(const struct frame *f, int eighths)
{
    static const wchar_t ascii[] = L" .:-=+*##";

    if (eighths <= 0)
        return L' ';
    return f->utf8 ? (wchar_t)(0x2580 + eighths) : ascii[eighths];
}

/* The same from the left. */
static wchar_t bar_block(const struct frame *f, int eighths)
{
    if (!f->utf8)
        return eighths >= STEPS / 2 ? L'#' : L'.';
    return eighths > 0 ? (wchar_t)(0x2590 - eighths) : L'\u2591';
}

static int limited(double x, int most)
{
    return x <= 0 ? 0 : x >= most ? most : (int)lround(x);
}

void graph_bar(struct frame *f, int row, int column, int width, enum frame_tint tint, double share)
{
    int filled = isnan(share) ? 0 : limited(share * width * STEPS, width * STEPS);

    if (filled == 0 && share > 0)
        filled = 1;
    for (int i = 0; i < width; i++) {
        int here = filled - i * STEPS > STEPS ? STEPS : filled - i * STEPS;

        frame_set(f, row, column + i, here > 0 ? tint : FRAME_DIM, isnan(share) ? L'-' : bar_block(f, here));
    }
}

/* Something that is not nothing is always seen. */
static int height_of(double value, double top, int most)
{
    int height = top > 0 ? limited(value / top * most, most) : 0;

    return height == 0 && value > 0 ? 1 : height;
}

void graph_spark(struct frame *f, int row, int column, int width, const double *values, size_t count)
{
    double top = 0;

    if (count > (size_t)width) {
        values += count - (size_t)width;
        count = (size_t)width;
    }
    for (size_t i = 0; i < count; i++)
        top = fmax(top, values[i]);
    column += width - (int)count;
    for (size_t i = 0; i < count; i++) {
        int height = isnan(values[i]) ? 0 : height_of(values[i], top, STEPS);

        if (!isnan(values[i]))
            frame_set(f, row, column + (int)i, height ? FRAME_PLAIN : FRAME_DIM, column_block(f, height ? height : 1));
    }
}

void graph_area(struct frame *f, int row, int rows, int column, int width, const double *values, size_t count,
                double top)
{
    for (int i = 0; i < width && count > 0; i++) {
        double value = values[width > 1 ? (size_t)i * (count - 1) / (size_t)(width - 1) : count - 1];
        int height = isnan(value) ? 0 : height_of(value, top, rows * STEPS);

        for (int r = 0; r < rows; r++) {
            int here = height - (rows - 1 - r) * STEPS;

            if (here > 0)
                frame_set(f, row + r, column + i, FRAME_PLAIN, column_block(f, here > STEPS ? STEPS : here));
        }
    }
}

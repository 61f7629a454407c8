/* Numbers as areas: blocks in eighths where the terminal has them, else letters. NAN leaves a gap. */
#ifndef ORDERD_TOP_GRAPH_H
#define ORDERD_TOP_GRAPH_H

#include "frame.h"

/* A bar of `width` columns, filled by share (0 to 1; more is full; NAN: all of it '-'). */
void graph_bar(struct frame *frame, int row, int column, int width, enum frame_tint tint, double share);

/* The last `width` of these values, the latest at the right end, each a column as high as its part of the largest. */
void graph_spark(struct frame *frame, int row, int column, int width, const double *values, size_t count);

/* All of the values over `rows` rows and the whole width, 0 to `top` high; from the first at
 * the left edge to the last at the right one. */
void graph_area(struct frame *frame, int row, int rows, int column, int width, const double *values, size_t count,
                double top);

#endif

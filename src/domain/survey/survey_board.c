#include "orderd/survey_board.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "orderd/check.h"

struct mark { /* of one activity at one point */
    int64_t id, left, live;
};

struct point {
    int64_t at, created, backlog;
    size_t count;
    struct mark *marks;
};

struct survey_board {
    pthread_mutex_t lock; /* guards all of it */
    struct survey survey;
    bool has_self;
    struct survey_self self;
    struct point points[SURVEY_HISTORY_POINTS]; /* a ring */
    size_t first, count;
};

static void lock(struct survey_board *board)
{
    CHECK_ZERO(pthread_mutex_lock(&board->lock));
}

static void unlock(struct survey_board *board)
{
    CHECK_ZERO(pthread_mutex_unlock(&board->lock));
}

struct survey_board *survey_board_create(void)
{
    struct survey_board *board = check_calloc(1, sizeof *board);

    CHECK_ZERO(pthread_mutex_init(&board->lock, NULL));
    survey_init(&board->survey);
    return board;
}

void survey_board_destroy(struct survey_board **board)
{
    if (!*board)
        return;
    for (size_t i = 0; i < SURVEY_HISTORY_POINTS; i++)
        free((*board)->points[i].marks);
    CHECK_ZERO(pthread_mutex_destroy(&(*board)->lock));
    free(*board);
    *board = NULL;
}

/* ---- history ---- */

static struct point *point_at(struct survey_board *board, size_t i)
{
    return &board->points[(board->first + i) % SURVEY_HISTORY_POINTS];
}

static struct point *next_point(struct survey_board *board)
{
    if (board->count == SURVEY_HISTORY_POINTS)
        board->first = (board->first + 1) % SURVEY_HISTORY_POINTS;
    else
        board->count++;
    return point_at(board, board->count - 1);
}

/* A clock that was set back must not stop the history. */
static bool due(struct survey_board *board, int64_t at)
{
    int64_t since = board->count > 0 ? at - point_at(board, board->count - 1)->at : SURVEY_HISTORY_STEP_MS;

    return since >= SURVEY_HISTORY_STEP_MS || since < 0;
}

static void remember(struct survey_board *board, const struct survey *s)
{
    double created = s->rates[REPLICA_CREATED];
    struct point *p = next_point(board);

    p->at = s->at;
    p->created = isfinite(created) ? llround(created) : SURVEY_UNKNOWN;
    p->backlog = s->backlog;
    p->count = s->activity_count;
    free(p->marks);
    p->marks = check_calloc(s->activity_count + 1, sizeof *p->marks);
    for (size_t i = 0; i < s->activity_count; i++)
        p->marks[i] = (struct mark){s->activities[i].id, s->activities[i].left, s->activities[i].live};
}

static void add_number(struct strbuf *out, const char *name, int64_t n)
{
    strbuf_add_str(out, name);
    if (n == SURVEY_UNKNOWN)
        strbuf_add_str(out, "null");
    else
        strbuf_add_i64(out, n);
}

static void add_point(struct strbuf *out, const struct point *p)
{
    add_number(out, "{\"at\":", p->at);
    add_number(out, ",\"created\":", p->created);
    add_number(out, ",\"backlog\":", p->backlog);
    strbuf_add_str(out, ",\"activities\":[");
    for (size_t i = 0; i < p->count; i++) {
        add_number(out, i ? ",{\"id\":" : "{\"id\":", p->marks[i].id);
        add_number(out, ",\"left\":", p->marks[i].left);
        add_number(out, ",\"sold\":", p->marks[i].live);
        strbuf_add_char(out, '}');
    }
    strbuf_add_str(out, "]}");
}

void survey_board_history(struct survey_board *board, struct strbuf *out)
{
    strbuf_addf(out, "{\"step_ms\":%d,\"points\":[", SURVEY_HISTORY_STEP_MS);
    lock(board);
    for (size_t i = 0; i < board->count; i++) {
        if (i > 0)
            strbuf_add_char(out, ',');
        add_point(out, point_at(board, i));
    }
    unlock(board);
    strbuf_add_str(out, "]}\n");
}

/* ---- now ---- */

void survey_board_put(struct survey_board *board, const struct survey *survey)
{
    lock(board);
    board->survey = *survey;
    if (due(board, survey->at))
        remember(board, survey);
    unlock(board);
}

void survey_board_get(struct survey_board *board, struct survey *out)
{
    lock(board);
    *out = board->survey;
    unlock(board);
}

void survey_board_set_self(struct survey_board *board, const struct survey_self *self)
{
    lock(board);
    board->self = *self;
    board->has_self = true;
    unlock(board);
}

bool survey_board_self(struct survey_board *board, struct survey_self *out)
{
    bool has;

    lock(board);
    has = board->has_self;
    if (has)
        *out = board->self;
    unlock(board);
    return has;
}

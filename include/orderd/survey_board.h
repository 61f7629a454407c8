/* What the threads of one process tell each other about the sale: the survey as it was read last, what was seen in the
 * last 15 minutes, and how this replica does. Any thread; no call waits for anything but a short lock. */
#ifndef ORDERD_SURVEY_BOARD_H
#define ORDERD_SURVEY_BOARD_H

#include "orderd/survey.h"

#define SURVEY_HISTORY_STEP_MS 5000
#define SURVEY_HISTORY_POINTS  180

struct survey_board;

struct survey_board *survey_board_create(void);
void survey_board_destroy(struct survey_board **board);

/* Copies it in and out. Read before the first one was put: nothing is known. Each that is put a step after the last
 * point of the history becomes a point of it. */
void survey_board_put(struct survey_board *board, const struct survey *survey);
void survey_board_get(struct survey_board *board, struct survey *out);

/* The object of GET /sale/history, on one line. */
void survey_board_history(struct survey_board *board, struct strbuf *out);

/* How this replica does; stopped: all that it had in hand is finished. */
struct survey_self {
    enum replica_state state;
    bool stopped;
    int64_t started_at; /* wall ms */
    char why[ERROR_TEXT_MAX];
    char admin[REPLICA_ADMIN_MAX + 1]; /* where it answers HTTP, or "" */
};
void survey_board_set_self(struct survey_board *board, const struct survey_self *self);
/* false: nobody has said yet, and *out is as it was. */
bool survey_board_self(struct survey_board *board, struct survey_self *out);

#endif

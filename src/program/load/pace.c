#include "pace.h"

#include "orderd/check.h"

void pace_init(struct pace *pace, double per_second, int64_t now_us)
{
    CHECK(per_second >= 0);
    *pace = (struct pace){per_second, now_us, 0};
}

static double due_at(const struct pace *pace, int64_t n)
{
    return (double)pace->start_us + (double)n * 1e6 / pace->per_second;
}

static int64_t begun_by(const struct pace *pace, int64_t now_us)
{
    return (int64_t)((double)(now_us - pace->start_us) * pace->per_second / 1e6 + 1e-6) + 1;
}

size_t pace_due(struct pace *pace, int64_t now_us, size_t max)
{
    double most = pace->per_second < 1 ? 1 : pace->per_second;
    int64_t due;

    if (pace->per_second <= 0)
        return max;
    due = begun_by(pace, now_us) - pace->done;
    if ((double)due > most) {
        pace->start_us += (int64_t)(((double)due - most) * 1e6 / pace->per_second);
        due = (int64_t)most;
    }
    if (due < 0)
        due = 0;
    if ((size_t)due > max)
        due = (int64_t)max;
    pace->done += due;
    return (size_t)due;
}

int64_t pace_wait_us(const struct pace *pace, int64_t now_us)
{
    double wait;

    if (pace->per_second <= 0)
        return 0;
    wait = due_at(pace, pace->done) - (double)now_us;
    return wait > 0 ? (int64_t)wait + 1 : 0;
}

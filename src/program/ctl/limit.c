#include "limit.h"

bool limit_take(struct limit *l)
{
    if (l->most > 0 && l->listed == l->most) {
        l->more = true;
        return false;
    }
    l->listed++;
    return true;
}

size_t limit_page(const struct limit *l, size_t page)
{
    int64_t left = l->most - l->listed;

    return l->most > 0 && left < (int64_t)page ? (size_t)left + 1 : page;
}

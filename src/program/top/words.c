#include "words.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "orderd/sale_view.h"

static const char *unknown(char out[WORD_MAX])
{
    return strcpy(out, "-");
}

static const char *large(char out[WORD_MAX], double n)
{
    static const char letters[] = "GTPE";
    size_t i = 0;

    for (n /= 1e9; fabs(n) >= 1000 && letters[i + 1]; i++)
        n /= 1000;
    snprintf(out, WORD_MAX, "%.1f%c", n, letters[i]);
    return out;
}

const char *word_count(char out[WORD_MAX], int64_t n)
{
    char digits[24];
    size_t len, at = 0;

    if (n == SALE_UNKNOWN)
        return unknown(out);
    if (n >= INT64_C(10000000000) || n <= INT64_C(-10000000000))
        return large(out, (double)n);
    len = (size_t)snprintf(digits, sizeof digits, "%" PRId64, n < 0 ? -n : n);
    if (n < 0)
        out[at++] = '-';
    for (size_t i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
    return out;
}

const char *word_rate(char out[WORD_MAX], double per_second)
{
    if (isnan(per_second))
        return unknown(out);
    if (per_second >= 10 || per_second == 0)
        return word_count(out, llround(per_second));
    snprintf(out, WORD_MAX, "%.1f", per_second);
    return out;
}

const char *word_us(char out[WORD_MAX], int64_t us)
{
    double ms = (double)us / 1000;

    if (us == SALE_UNKNOWN)
        return unknown(out);
    if (ms >= 60000)
        return word_clock(out, us / 1000);
    if (ms < 9.95)
        snprintf(out, WORD_MAX, "%.1f ms", ms);
    else if (ms < 999.5)
        snprintf(out, WORD_MAX, "%.0f ms", ms);
    else
        snprintf(out, WORD_MAX, "%.1f s", ms / 1000);
    return out;
}

const char *word_clock(char out[WORD_MAX], int64_t ms)
{
    int64_t s = ms / 1000;

    if (ms == SALE_UNKNOWN)
        return unknown(out);
    if (s < 60)
        snprintf(out, WORD_MAX, "%" PRId64 "s", s > 0 ? s : 0);
    else if (s < 3600)
        snprintf(out, WORD_MAX, "%" PRId64 "m%02" PRId64 "s", s / 60, s % 60);
    else if (s < 86400)
        snprintf(out, WORD_MAX, "%" PRId64 "h%02" PRId64 "m", s / 3600, s / 60 % 60);
    else
        snprintf(out, WORD_MAX, "%" PRId64 "d%02" PRId64 "h", s / 86400, s / 3600 % 24);
    return out;
}

const char *word_seconds(char out[WORD_MAX], double s)
{
    if (isnan(s))
        return unknown(out);
    if (s > 0 && s < 9.95) {
        snprintf(out, WORD_MAX, "%.1fs", s);
        return out;
    }
    return word_clock(out, s < 9e12 ? (int64_t)(s * 1000) : SALE_UNKNOWN);
}

const char *word_percent(char out[WORD_MAX], int64_t part, int64_t all)
{
    double share = (double)part * 100 / (double)all;

    if (part < 0 || all <= 0)
        return unknown(out);
    if (part > 0 && share < 1)
        return strcpy(out, "<1 %");
    if (part < all && share > 99)
        return strcpy(out, ">99 %");
    snprintf(out, WORD_MAX, "%.0f %%", fmin(floor(share), 999));
    return out;
}

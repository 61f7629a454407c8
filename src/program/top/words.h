/* Numbers and times as an operator reads them. What is not known is "-". */
#ifndef ORDERD_TOP_WORDS_H
#define ORDERD_TOP_WORDS_H

#include <stdint.h>

#define WORD_MAX 32

/* "1,234,567"; from ten thousand millions on "12.3G". */
const char *word_count(char out[WORD_MAX], int64_t n);

/* "0", "3.4", "1,234" */
const char *word_rate(char out[WORD_MAX], double per_second);

/* "0.8 ms", "120 ms", "12.3 s"; from a minute on as word_clock. */
const char *word_us(char out[WORD_MAX], int64_t us);

/* "12s", "59m12s", "2h05m", "3d04h"; below nothing is "0s". */
const char *word_clock(char out[WORD_MAX], int64_t ms);
const char *word_seconds(char out[WORD_MAX], double s); /* the same; below 10 s with a tenth */

/* "41 %", "<1 %" and ">99 %" where it is neither nothing nor all. */
const char *word_percent(char out[WORD_MAX], int64_t part, int64_t all);

#endif

/* Durations and sizes as people write them: "250ms" "5s" "15m" "2h" "1d", "512" "16KiB" "64MiB" "1GiB" (bytes without
 * a unit; KiB = 1024). A number and one unit, no spaces, no sign, no fraction. */
#ifndef ORDERD_UNITS_H
#define ORDERD_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "orderd/error.h"

/* false (and *out untouched) where the text is not one of these or is over INT64_MAX. A duration needs its unit,
 * except "0". */
ORDERD_MUST_CHECK bool units_parse_duration(const char *text, int64_t *out_ms);
ORDERD_MUST_CHECK bool units_parse_size(const char *text, int64_t *out_bytes);

/* The shortest text that parses back to the same value, e.g. 90000 -> "90s". size >= 24. */
void units_format_duration(char *out, size_t size, int64_t ms);
void units_format_size(char *out, size_t size, int64_t bytes);

/* 31008 -> "3.10.8" (major * 10000 + minor * 100 + patch). size >= 16. */
void units_format_version(char *out, size_t size, int version);

/* A whole decimal number within [min, max], nothing around it. */
ORDERD_MUST_CHECK bool units_parse_i64(const char *text, int64_t min, int64_t max, int64_t *out);

#endif

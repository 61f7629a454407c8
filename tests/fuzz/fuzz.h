/* One fuzz target: a decoder of bytes that others wrote. Built by clang with its fuzzer (preset fuzz, scripts/fuzz), or
 * with replay.c to run once over the inputs that are kept in corpus/. A target ends the process (CHECK, a sanitizer)
 * where what it promises does not hold. */
#ifndef ORDERD_FUZZ_H
#define ORDERD_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/strbuf.h"

/* Names are libFuzzer's. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static inline struct slice fuzz_slice(const uint8_t *data, size_t size)
{
    return (struct slice){(const char *)data, size};
}

/* The first byte of an input often says what to do with the others; 0 where there is none. */
static inline uint8_t fuzz_take_byte(const uint8_t **data, size_t *size)
{
    if (*size == 0)
        return 0;
    (*size)--;
    return *(*data)++;
}

#endif

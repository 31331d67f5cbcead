/* sc_signs.h - words of the signs of tensors whose elements are -1, 0 or 1, as ir/ops/signs.py describes them. */
#ifndef SC_SIGNS_H
#define SC_SIGNS_H
#include "../include/sc_team.h"
#include "../include/sc_vector.h"
#include "sc_internal.h"

enum { SIGNS_WORD = 64, SIGNS_BLOCK = 8 };
enum { SIGNS_LIMITS = 4 }; /* rows of thresholds: the first and the last sum that is negative, and that is 0 */

static inline int64_t signs_divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
static inline int64_t signs_words(int64_t channels) { return signs_divide_up(channels, SIGNS_WORD); }

/* Return word k of elements that are all not 0. */
static inline uint64_t signs_all(int64_t channels, int64_t k) {
    int64_t left = channels - k * SIGNS_WORD;
    return left < SIGNS_WORD ? UINT64_MAX >> (SIGNS_WORD - left) : UINT64_MAX;
}

/* Return whether the bits of a filter stand side by side, tap by tap, because words of each tap would be mostly empty. */
static inline bool signs_is_patch(int64_t channels, int64_t area) {
    return 4 * signs_words(channels * area) <= 3 * area * signs_words(channels);
}

/* Set the bits from bit `at` on to those of `channels` channels. The bits must be 0, and those behind the last channel too. */
SC_INLINE void signs_append(uint64_t *to, int64_t at, const uint64_t *from, int64_t channels, int64_t step) {
    for (int64_t i = 0; i * SIGNS_WORD < channels; i++) {
        uint64_t word = from[i], rest;
        int64_t place = (at / SIGNS_WORD + i) * step;
        int shift = (int)(at % SIGNS_WORD);
        to[place] |= word << shift;
        rest = shift ? word >> (SIGNS_WORD - shift) : 0;
        if (rest) to[place + step] |= rest;
    }
}

#endif

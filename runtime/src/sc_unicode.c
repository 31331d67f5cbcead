/* sc_unicode.c - what Unicode says of single code points, from tables that Python wrote. */
#include "../include/sc_str.h"

struct unicode_kind { uint16_t has; int32_t add[4]; }; /* add: to the code, for each case */
struct unicode_special { uint32_t code; uint8_t to, n; uint16_t codes[3]; };
enum { UNICODE_KIND_BITS = 11 };
#include "sc_unicode.inc"

/* Return the run to which a code belongs. */
static const uint32_t *unicode_run(uint32_t code) {
    size_t low = 0, high = sizeof unicode_runs / sizeof *unicode_runs; /* the first run starts at 0 */
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (unicode_runs[middle] >> UNICODE_KIND_BITS <= code) low = middle;
        else high = middle;
    }
    return &unicode_runs[low];
}

static const struct unicode_kind *unicode_kind_of(uint32_t code) {
    return &unicode_kinds[*unicode_run(code) & ((1 << UNICODE_KIND_BITS) - 1)];
}

SC_KERNEL bool sc_unicode_has(int64_t code, int any_of) {
    return (unicode_kind_of((uint32_t)code)->has & any_of) != 0;
}

SC_KERNEL int sc_unicode_map(uint32_t code, int to, uint32_t *out) {
    size_t low = 0, high = sizeof unicode_special / sizeof *unicode_special;
    uint64_t wanted = (uint64_t)code << 8 | (uint64_t)to;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct unicode_special *s = &unicode_special[middle];
        uint64_t key = (uint64_t)s->code << 8 | s->to;
        if (key == wanted) {
            for (int i = 0; i < s->n; i++) out[i] = s->codes[i];
            return s->n;
        }
        if (key < wanted) low = middle + 1;
        else high = middle;
    }
    out[0] = (uint32_t)((int64_t)code + unicode_kind_of(code)->add[to]);
    return 1;
}

SC_KERNEL int sc_unicode_decimal(uint32_t code) {
    if (!sc_unicode_has(code, SC_DECIMAL)) return -1;
    return (int)(code - (*unicode_run(code) >> UNICODE_KIND_BITS)); /* runs of digits begin at each 0 */
}

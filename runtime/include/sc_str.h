/* sc_str.h - Python's str. Everything counts code points. Functions that return an object return a new reference (perhaps to
 * an argument), or NULL after raising MemoryError; the others cannot fail, but where they say so. */
#ifndef SC_STR_H
#define SC_STR_H

#include <string.h>

#include "sc.h"

#define SC_TEXT static inline __attribute__((unused))

/* A constant: data is an array of `len` elements of `width` bytes, hash what sc_str_hash gives. */
#define SC_STR_CONSTANT(width, len, hash, data) {{NULL, NULL, SC_IMMORTAL, SC_STR}, width, len, hash, 0, NULL, (void *)(data)}

enum { SC_CODES = 0x110000, SC_TO_END = -1 }; /* SC_TO_END: what slices and counts that are left out have */

SC_TEXT uint32_t sc_str_code(const sc_str *s, int64_t i) { /* 0 <= i < len */
    if (s->width == 1) return ((const uint8_t *)s->data)[i];
    return s->width == 2 ? ((const uint16_t *)s->data)[i] : ((const uint32_t *)s->data)[i];
}

/* ---- for tables that are keyed by strings ---- */
SC_TEXT bool sc_str_equal(const sc_str *a, const sc_str *b) {
    if (a == b) return true;
    return a->len == b->len && a->width == b->width && memcmp(a->data, b->data, (size_t)a->len * a->width) == 0;
}
SC_KERNEL uint64_t sc_str_hash_of(const sc_str *s);
/* Never 0; equal strings have equal hashes, in every process. Kept in the string. */
SC_TEXT uint64_t sc_str_hash(const sc_str *s) {
    return s->hash ? s->hash : sc_str_hash_of(s);
}
SC_KERNEL int sc_str_compare(const sc_str *a, const sc_str *b); /* < 0, 0, > 0 */

/* ---- making ---- */
SC_KERNEL sc_str *sc_str_chr(sc_ctx *cx, int64_t code); /* 0 <= code < SC_CODES; no memory is taken for Latin-1 */
SC_KERNEL sc_str *sc_str_of(sc_ctx *cx, int width, const void *data, int64_t len); /* a copy */
SC_KERNEL sc_str *sc_str_from_utf8(sc_ctx *cx, const char *bytes, size_t n);      /* what is no UTF-8 becomes U+FFFD */
SC_KERNEL size_t sc_str_utf8_length(const sc_str *s);
SC_KERNEL char *sc_str_utf8_write(const sc_str *s, char *to); /* the place behind what it wrote; no NUL is added */
/* a + b. reuse: the caller gives up its reference to a next; where nobody else has one, a grows and is the result, counted
 * twice. */
SC_KERNEL sc_str *sc_str_concat(sc_ctx *cx, sc_str *a, sc_str *b, bool reuse);
SC_KERNEL sc_str *sc_str_push(sc_ctx *cx, sc_str *a, int64_t code, bool reuse); /* a + chr(code) */
SC_KERNEL sc_str *sc_str_repeat(sc_ctx *cx, sc_str *s, int64_t times);
SC_KERNEL sc_str *sc_str_part(sc_ctx *cx, sc_str *s, int64_t start, int64_t len); /* within s */
SC_KERNEL sc_str *sc_str_slice(sc_ctx *cx, sc_str *s, int64_t start, int64_t stop, int64_t step); /* as lists; step != 0 */
SC_KERNEL sc_str *sc_str_join(sc_ctx *cx, sc_str *separator, const sc_list *parts);
SC_KERNEL sc_str *sc_str_replace(sc_ctx *cx, sc_str *s, const sc_str *old, const sc_str *with, int64_t count);

/* The code at a Python index: IndexError. */
SC_TEXT int sc_str_get(sc_ctx *cx, const sc_str *s, int64_t i, int64_t *out) {
    int64_t at = i < 0 ? i + s->len : i;
    if (at < 0 || at >= s->len) return sc_raise(cx, "IndexError", "string index out of range"), -1;
    *out = sc_str_code(s, at);
    return 0;
}

/* ---- searching in s[start:stop], bounds as Python reads them ---- */
SC_KERNEL int64_t sc_str_find(const sc_str *s, const sc_str *sub, int64_t start, int64_t stop); /* -1: it is not there */
SC_KERNEL int64_t sc_str_rfind(const sc_str *s, const sc_str *sub, int64_t start, int64_t stop);
SC_KERNEL int64_t sc_str_count(const sc_str *s, const sc_str *sub, int64_t start, int64_t stop);
SC_KERNEL bool sc_str_startswith(const sc_str *s, const sc_str *prefix, int64_t start, int64_t stop);
SC_KERNEL bool sc_str_endswith(const sc_str *s, const sc_str *suffix, int64_t start, int64_t stop);
SC_KERNEL bool sc_str_holds(const sc_str *s, int64_t code);

#endif

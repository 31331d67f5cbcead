/* sc_str.h - Python's str. Lengths and indices count code points. Functions that return an object return a new
 * reference (perhaps to an argument), or NULL after raising MemoryError. Other functions fail only where their comments
 * say so. */
#ifndef SC_STR_H
#define SC_STR_H

#include <string.h>

#include "sc_kernels.h"

#define SC_STRING static inline __attribute__((unused))

/* FNV-1a over code points: a constant's hash is computed by the compiler (backend_c/literals.py). */
#define SC_STR_HASH_BASIS UINT64_C(0xcbf29ce484222325)
#define SC_STR_HASH_PRIME UINT64_C(0x100000001b3)

/* A constant. data: an array of `len` elements of `width` bytes; hash: the result of sc_str_hash. */
#define SC_STR_CONSTANT(width, len, hash, data) {{NULL, NULL, SC_IMMORTAL, SC_STR}, width, len, hash, NULL, (void *)(data)}

enum { SC_CODES = 0x110000 };

SC_STRING uint32_t sc_str_code(const sc_str *s, int64_t i) { /* 0 <= i < len */
    if (s->width == 1) return ((const uint8_t *)s->data)[i];
    return s->width == 2 ? ((const uint16_t *)s->data)[i] : ((const uint32_t *)s->data)[i];
}

SC_STRING int sc_str_width(uint32_t most) { /* bytes of code points up to `most`, which may be several or-ed together */
    return most < 0x100 ? 1 : most < 0x10000 ? 2 : 4;
}

SC_STRING void sc_str_put(void *data, int width, int64_t i, uint32_t code) {
    if (width == 1) ((uint8_t *)data)[i] = (uint8_t)code;
    else if (width == 2) ((uint16_t *)data)[i] = (uint16_t)code;
    else ((uint32_t *)data)[i] = code;
}

/* ---- for tables that are keyed by strings ---- */
SC_STRING bool sc_str_equal(const sc_str *a, const sc_str *b) {
    if (a == b) return true;
    return a->len == b->len && a->width == b->width && memcmp(a->data, b->data, (size_t)a->len * a->width) == 0;
}
/* FNV-1a over code points: a constant's hash is computed by the compiler (backend_c/literals.py). */
#define SC_STR_HASH_BASIS UINT64_C(0xcbf29ce484222325)
#define SC_STR_HASH_PRIME UINT64_C(0x100000001b3)

/* Return the hash, which is never 0, the same in every process, and kept in the string. */
SC_STRING uint64_t sc_str_hash(const sc_str *s) {
    return s->hash ? s->hash : sc_str_hash_of(s);
}

/* ---- making ---- */
#ifdef SC_UNITY
static const sc_str sc_latin1[256];
#else
extern SC_KERNEL const sc_str sc_latin1[256]; /* the strings of one Latin-1 character */
#endif
SC_STRING sc_str *sc_str_chr(sc_ctx *cx, int64_t code) { /* 0 <= code < SC_CODES; allocates nothing for Latin-1 */
    return code < 256 ? (sc_str *)&sc_latin1[code] : sc_str_wide(cx, code);
}
/* Return a + chr(code). reuse: the caller releases a next; if the reference count of a is one, a grows in place and is
 * the result, with a count of two. */
SC_STRING sc_str *sc_str_push(sc_ctx *cx, sc_str *a, int64_t code, bool reuse) {
    bool fits = a->width == 1 && code < 0x100 && (size_t)a->len < sc_str_room(a);
    if (!reuse || a->obj.refs != 1 || a->len == 0 || !fits) return sc_str_join_code(cx, a, code, reuse);
    ((uint8_t *)a->data)[a->len++] = (uint8_t)code;
    a->hash = 0;
    a->obj.refs = 2;
    return a;
}
SC_STRING sc_str *sc_str_concat(sc_ctx *cx, sc_str *a, sc_str *b, bool reuse) { /* a + b */
    return b->len == 1 ? sc_str_push(cx, a, sc_str_code(b, 0), reuse) : sc_str_join_two(cx, a, b, reuse);
}

#pragma GCC visibility push(hidden)
/* ---- UTF-8 (sc_utf8.c) ---- */
sc_str *sc_str_from_utf8(sc_ctx *cx, const char *bytes, size_t n); /* invalid bytes become U+FFFD */
size_t sc_str_utf8_length(const sc_str *s);
char *sc_str_utf8_write(const sc_str *s, char *to); /* returns the end of the written bytes; adds no NUL */
#pragma GCC visibility pop

/* Write the code at a Python index to *out, or raise IndexError. */
SC_STRING int sc_str_get(sc_ctx *cx, const sc_str *s, int64_t i, int64_t *out) {
    int64_t at = i < 0 ? i + s->len : i;
    if (at < 0 || at >= s->len) return sc_raise(cx, "IndexError", "string index out of range"), -1;
    *out = sc_str_code(s, at);
    return 0;
}

/* ---- properties of characters (sc_unicode.c) ---- */
enum { /* ORDER PROPERTIES: runtime/tools/unicode_tables.py */
    SC_ALPHA = 1 << 0, SC_DECIMAL = 1 << 1, SC_DIGIT = 1 << 2, SC_NUMERIC = 1 << 3, SC_SPACE = 1 << 4, SC_PRINTABLE = 1 << 5,
    SC_LOWER = 1 << 6, SC_UPPER = 1 << 7, SC_TITLE = 1 << 8, SC_STARTS_NAME = 1 << 9, SC_IN_NAME = 1 << 10,
    SC_IGNORABLE = 1 << 11, SC_LINEBREAK = 1 << 12,
    SC_ALNUM = SC_ALPHA | SC_DECIMAL | SC_DIGIT | SC_NUMERIC, SC_CASED = SC_LOWER | SC_UPPER | SC_TITLE
};
enum { SC_TO_UPPER, SC_TO_LOWER, SC_TO_TITLE, SC_TO_FOLDED }; /* ORDER CASES: the same file */

SC_STRING bool sc_in_range(int64_t c, int64_t first, int64_t last) {
    return (uint64_t)(c - first) <= (uint64_t)(last - first);
}

/* Return whether a code has one of the properties `any_of`, a constant: a comparison or two for ASCII. */
SC_STRING bool sc_code_is(int64_t c, int any_of) {
    if (c < 128) switch (any_of) {
        case SC_ALPHA: return sc_in_range(c | 32, 'a', 'z');
        case SC_ALNUM: return sc_in_range(c | 32, 'a', 'z') || sc_in_range(c, '0', '9');
        case SC_DECIMAL: case SC_DIGIT: case SC_NUMERIC: return sc_in_range(c, '0', '9');
        case SC_LOWER: return sc_in_range(c, 'a', 'z');
        case SC_UPPER: return sc_in_range(c, 'A', 'Z');
        case SC_SPACE: return c == ' ' || sc_in_range(c, 9, 13) || sc_in_range(c, 28, 31);
        case SC_LINEBREAK: return sc_in_range(c, 10, 13) || sc_in_range(c, 28, 30);
        case SC_PRINTABLE: return sc_in_range(c, 32, 126);
        }
    return sc_unicode_has(c, any_of);
}

SC_STRING sc_str *sc_code_lower(sc_ctx *cx, int64_t code) { /* chr(code).lower() */
    return code < 128 ? sc_str_chr(cx, sc_in_range(code, 'A', 'Z') ? code + 32 : code) : sc_code_mapped(cx, code, SC_TO_LOWER);
}
SC_STRING sc_str *sc_code_upper(sc_ctx *cx, int64_t code) {
    return code < 128 ? sc_str_chr(cx, sc_in_range(code, 'a', 'z') ? code - 32 : code) : sc_code_mapped(cx, code, SC_TO_UPPER);
}

#endif

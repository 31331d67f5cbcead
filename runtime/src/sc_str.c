/* sc_str.c - strings: making, comparing, searching. */
#include "../include/sc_str.h"
#include "sc_internal.h"

SC_KERNEL int sc_str_compare(const sc_str *a, const sc_str *b) {
    int64_t n = a->len < b->len ? a->len : b->len;
    if (a->width == 1 && b->width == 1) {
        int order = memcmp(a->data, b->data, (size_t)n);
        if (order) return order;
    } else {
        for (int64_t i = 0; i < n; i++) {
            uint32_t x = sc_str_code(a, i), y = sc_str_code(b, i);
            if (x != y) return x < y ? -1 : 1;
        }
    }
    return (a->len > b->len) - (a->len < b->len);
}

/* ---- making ---- */

/* The strings of one Latin-1 character, and their bytes. */
#define STR_HASHED(c) ((SC_STR_HASH_BASIS ^ (c)) * SC_STR_HASH_PRIME)
#define STR_CHAR(c) SC_STR_CONSTANT(1, 1, STR_HASHED(c) ^ STR_HASHED(c) >> 32, str_bytes + (c))
#define STR_CHARS4(c) STR_CHAR(c), STR_CHAR((c) + 1), STR_CHAR((c) + 2), STR_CHAR((c) + 3)
#define STR_CHARS16(c) STR_CHARS4(c), STR_CHARS4((c) + 4), STR_CHARS4((c) + 8), STR_CHARS4((c) + 12)
#define STR_CHARS64(c) STR_CHARS16(c), STR_CHARS16((c) + 16), STR_CHARS16((c) + 32), STR_CHARS16((c) + 48)
#define STR_BYTES4(c) (c), (c) + 1, (c) + 2, (c) + 3
#define STR_BYTES16(c) STR_BYTES4(c), STR_BYTES4((c) + 4), STR_BYTES4((c) + 8), STR_BYTES4((c) + 12)
#define STR_BYTES64(c) STR_BYTES16(c), STR_BYTES16((c) + 16), STR_BYTES16((c) + 32), STR_BYTES16((c) + 48)
static const uint8_t str_bytes[256] = {STR_BYTES64(0), STR_BYTES64(64), STR_BYTES64(128), STR_BYTES64(192)};
#ifdef SC_UNITY
static
#endif
const sc_str sc_latin1[256] = {STR_CHARS64(0), STR_CHARS64(64), STR_CHARS64(128), STR_CHARS64(192)};
static const sc_str str_empty = SC_STR_CONSTANT(1, 0, SC_STR_HASH_BASIS ^ SC_STR_HASH_BASIS >> 32, str_bytes);

static inline sc_str *str_shared(const sc_str *s) { /* one more reference */
    sc_retain((sc_str *)s);
    return (sc_str *)s;
}

/* Copy n code points of s, from index `from`, to index `at` in data, whose width is large enough. */
static void str_put_part(void *data, int width, int64_t at, const sc_str *s, int64_t from, int64_t n) {
    if (width == s->width) {
        memcpy((char *)data + at * width, (const char *)s->data + from * width, (size_t)(n * width));
        return;
    }
    for (int64_t i = 0; i < n; i++) sc_str_put(data, width, at + i, sc_str_code(s, from + i));
}

static uint32_t str_most(const sc_str *s, int64_t start, int64_t n) { /* an upper bound that needs the same width */
    uint32_t most = 0;
    if (s->width == 1) return 0;
    for (int64_t i = start; i < start + n; i++) most |= sc_str_code(s, i);
    return most;
}

SC_KERNEL sc_str *sc_str_wide(sc_ctx *cx, int64_t code) {
    sc_str *s = sc_str_new(cx, sc_str_width((uint32_t)code), 1);
    if (s) sc_str_put(s->data, s->width, 0, (uint32_t)code);
    return s;
}

SC_KERNEL sc_str *sc_str_part(sc_ctx *cx, sc_str *s, int64_t start, int64_t len) {
    if (len == s->len) return str_shared(s);
    if (len == 0) return (sc_str *)&str_empty;
    if (len == 1) return sc_str_chr(cx, sc_str_code(s, start));
    sc_str *made = sc_str_new(cx, sc_str_width(str_most(s, start, len)), len);
    if (made) str_put_part(made->data, made->width, 0, s, start, len);
    return made;
}

SC_KERNEL sc_str *sc_str_of(sc_ctx *cx, int width, const void *data, int64_t len) {
    /* longer: static strings have one character */
    sc_str view = {.width = (uint8_t)width, .len = len + 1, .data = (void *)data};
    return sc_str_part(cx, &view, 0, len);
}

SC_KERNEL sc_str *sc_str_slice(sc_ctx *cx, sc_str *s, int64_t start, int64_t stop, int64_t step) {
    int64_t n = sc_slice_length(s->len, &start, &stop, step);
    if (step == 1) return sc_str_part(cx, s, start, n);
    if (n == 0) return (sc_str *)&str_empty;
    uint32_t most = 0;
    for (int64_t k = 0; k < n; k++) most |= sc_str_code(s, start + k * step);
    if (n == 1) return sc_str_chr(cx, most);
    sc_str *made = sc_str_new(cx, sc_str_width(most), n);
    for (int64_t k = 0; made && k < n; k++) sc_str_put(made->data, made->width, k, sc_str_code(s, start + k * step));
    return made;
}

/* Append b to a in place. The reference count of a is one, and a is wide enough. */
static sc_str *str_append(sc_ctx *cx, sc_str *a, const sc_str *b) {
    size_t nbytes = (size_t)(a->len + b->len) * a->width;
    if (nbytes > sc_str_room(a) && sc_str_reserve(cx, a, 2 * nbytes)) return NULL;
    str_put_part(a->data, a->width, a->len, b, 0, b->len);
    a->len += b->len;
    a->hash = 0;
    return str_shared(a);
}

SC_KERNEL sc_str *sc_str_join_two(sc_ctx *cx, sc_str *a, sc_str *b, bool reuse) {
    if (b->len == 0) return str_shared(a);
    if (a->len == 0) return str_shared(b);
    if (reuse && a->obj.refs == 1 && a != b && a->width >= b->width) return str_append(cx, a, b);
    int64_t len;
    if (__builtin_add_overflow(a->len, b->len, &len)) return sc_raise(cx, "MemoryError", "%s", ""), NULL;
    sc_str *made = sc_str_new(cx, a->width > b->width ? a->width : b->width, len);
    if (!made) return NULL;
    str_put_part(made->data, made->width, 0, a, 0, a->len);
    str_put_part(made->data, made->width, a->len, b, 0, b->len);
    return made;
}

SC_KERNEL sc_str *sc_str_join_code(sc_ctx *cx, sc_str *a, int64_t code, bool reuse) {
    int width = sc_str_width((uint32_t)code);
    if (reuse && a->obj.refs == 1 && a->width >= width && a->len && (size_t)(a->len + 1) * a->width <= sc_str_room(a)) {
        sc_str_put(a->data, a->width, a->len++, (uint32_t)code);
        a->hash = 0;
        return str_shared(a);
    }
    if (a->len == 0) return sc_str_chr(cx, code);
    if (!reuse || a->obj.refs != 1 || a->width < width) { /* make another string, which may grow from now on */
        sc_str *made = sc_str_new(cx, a->width > width ? a->width : width, a->len + 1);
        if (!made) return NULL;
        str_put_part(made->data, made->width, 0, a, 0, a->len);
        sc_str_put(made->data, made->width, a->len, (uint32_t)code);
        return made;
    }
    sc_str last = {.obj = {.refs = SC_IMMORTAL}, .width = (uint8_t)width, .len = 1, .data = &(uint32_t){0}};
    sc_str_put(last.data, width, 0, (uint32_t)code);
    return str_append(cx, a, &last);
}

SC_KERNEL sc_str *sc_str_repeat(sc_ctx *cx, sc_str *s, int64_t times) {
    int64_t len;
    if (times == 1) return str_shared(s);
    if (times <= 0 || s->len == 0) return (sc_str *)&str_empty;
    if (__builtin_mul_overflow(s->len, times, &len)) return sc_raise(cx, "MemoryError", "%s", ""), NULL;
    sc_str *made = sc_str_new(cx, s->width, len);
    for (int64_t i = 0; made && i < times; i++) str_put_part(made->data, made->width, i * s->len, s, 0, s->len);
    return made;
}

SC_KERNEL sc_str *sc_str_join(sc_ctx *cx, sc_str *separator, const sc_list *parts) {
    int64_t len = 0, at = 0;
    int width = 1;
    if (parts->len == 0) return (sc_str *)&str_empty;
    if (parts->len == 1) return str_shared(parts->items[0].s);
    for (int64_t i = 0; i < parts->len; i++) {
        const sc_str *s = parts->items[i].s;
        if (s->width > width) width = s->width;
        if (__builtin_add_overflow(len, s->len, &len)) return sc_raise(cx, "MemoryError", "%s", ""), NULL;
    }
    if (separator->len && separator->width > width) width = separator->width;
    int64_t between;
    if (__builtin_mul_overflow(separator->len, parts->len - 1, &between) || __builtin_add_overflow(len, between, &len))
        return sc_raise(cx, "MemoryError", "%s", ""), NULL;
    sc_str *made = sc_str_new(cx, width, len);
    for (int64_t i = 0; made && i < parts->len; i++) {
        const sc_str *s = parts->items[i].s;
        if (i) str_put_part(made->data, width, at, separator, 0, separator->len), at += separator->len;
        str_put_part(made->data, width, at, s, 0, s->len);
        at += s->len;
    }
    return made;
}

/* ---- searching ---- */

/* Convert the bounds of s[start:stop] to offsets. start may be beyond the end. */
static inline void str_bounds(const sc_str *s, int64_t *start, int64_t *stop) {
    if (*stop > s->len) *stop = s->len;
    else if (*stop < 0 && (*stop += s->len) < 0) *stop = 0;
    if (*start < 0 && (*start += s->len) < 0) *start = 0;
}

static bool str_is_at(const sc_str *s, int64_t at, const sc_str *sub) {
    if (s->width == sub->width)
        return memcmp((const char *)s->data + at * s->width, sub->data, (size_t)sub->len * sub->width) == 0;
    for (int64_t i = 0; i < sub->len; i++)
        if (sc_str_code(s, at + i) != sc_str_code(sub, i)) return false;
    return true;
}

/* Return the first index of a code in [start, stop), or stop. */
static int64_t str_find_code(const sc_str *s, uint32_t code, int64_t start, int64_t stop) {
    if (start >= stop || (s->width == 1 && code > 0xff)) return stop;
    if (s->width == 1) {
        const uint8_t *data = s->data, *found = memchr(data + start, (int)code, (size_t)(stop - start));
        return found ? found - data : stop;
    }
    while (start < stop && sc_str_code(s, start) != code) start++;
    return start;
}

static int64_t str_find_in(const sc_str *s, const sc_str *sub, int64_t start, int64_t stop) { /* offsets; -1 */
    int64_t last = stop - sub->len;
    if (start > last) return -1;
    if (sub->len == 0) return start;
    uint32_t first = sc_str_code(sub, 0);
    for (int64_t i = start; (i = str_find_code(s, first, i, last + 1)) <= last; i++)
        if (str_is_at(s, i, sub)) return i;
    return -1;
}

SC_KERNEL int64_t sc_str_find(const sc_str *s, const sc_str *sub, int64_t start, int64_t stop) {
    str_bounds(s, &start, &stop);
    return str_find_in(s, sub, start, stop);
}

SC_KERNEL int64_t sc_str_rfind(const sc_str *s, const sc_str *sub, int64_t start, int64_t stop) {
    str_bounds(s, &start, &stop);
    for (int64_t i = stop - sub->len; i >= start; i--)
        if (str_is_at(s, i, sub)) return i;
    return -1;
}

static int64_t str_count_in(const sc_str *s, const sc_str *sub, int64_t start, int64_t stop) {
    int64_t n = 0;
    if (sub->len == 0) return start <= stop ? stop - start + 1 : 0;
    for (int64_t i = start; (i = str_find_in(s, sub, i, stop)) >= 0; i += sub->len) n++;
    return n;
}

SC_KERNEL int64_t sc_str_count(const sc_str *s, const sc_str *sub, int64_t start, int64_t stop) {
    str_bounds(s, &start, &stop);
    return str_count_in(s, sub, start, stop);
}

SC_KERNEL bool sc_str_startswith(const sc_str *s, const sc_str *prefix, int64_t start, int64_t stop) {
    str_bounds(s, &start, &stop);
    return stop - start >= prefix->len && str_is_at(s, start, prefix);
}

SC_KERNEL bool sc_str_endswith(const sc_str *s, const sc_str *suffix, int64_t start, int64_t stop) {
    str_bounds(s, &start, &stop);
    return stop - start >= suffix->len && str_is_at(s, stop - suffix->len, suffix);
}

SC_KERNEL bool sc_str_holds(const sc_str *s, int64_t code) {
    return str_find_code(s, (uint32_t)code, 0, s->len) < s->len;
}

SC_KERNEL sc_str *sc_str_replace(sc_ctx *cx, sc_str *s, const sc_str *old, const sc_str *with, int64_t count) {
    int64_t n = str_count_in(s, old, 0, s->len), len, grown, from = 0, at = 0;
    if (count >= 0 && count < n) n = count;
    if (n == 0 || sc_str_equal(old, with)) return str_shared(s);
    if (__builtin_mul_overflow(n, with->len - old->len, &grown) || __builtin_add_overflow(s->len, grown, &len))
        return sc_raise(cx, "MemoryError", "%s", ""), NULL;
    if (len == 0) return (sc_str *)&str_empty;
    sc_str *made = sc_str_new(cx, s->width > with->width ? s->width : with->width, len);
    if (!made) return NULL;
    for (int64_t k = 0; k < n; k++) { /* an empty `old` matches before each code point, and at the end */
        int64_t next = old->len ? str_find_in(s, old, from, s->len) : from + (k > 0);
        str_put_part(made->data, made->width, at, s, from, next - from);
        at += next - from;
        str_put_part(made->data, made->width, at, with, 0, with->len);
        at += with->len;
        from = next + old->len;
    }
    str_put_part(made->data, made->width, at, s, from, s->len - from);
    if (made->width == 1 || sc_str_width(str_most(made, 0, len)) == made->width) return made;
    sc_str *narrower = sc_str_of(cx, made->width, made->data, len); /* the wide code points have been replaced */
    sc_release(cx, made);
    return narrower;
}

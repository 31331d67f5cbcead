/* sc_utf8.c - strings from UTF-8 and to it. It does not depend on the level and is compiled apart, as sc_core.c is. */
#include "../include/sc_str.h"

/* Return a code point of at most n bytes, or U+FFFD for an invalid byte. Surrogates are accepted, since Python's
 * strings may hold them. */
static uint32_t utf8_next(const uint8_t *p, size_t n, size_t *used) {
    uint32_t c = p[0];
    int more = c < 0x80 ? 0 : c >> 5 == 6 ? 1 : c >> 4 == 14 ? 2 : c >> 3 == 30 ? 3 : -1;
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    *used = 1;
    if (more < 0 || (size_t)more >= n) return 0xfffd;
    if (more) c &= 0x3fu >> more;
    for (int i = 1; i <= more; i++) {
        if (p[i] >> 6 != 2) return 0xfffd;
        c = c << 6 | (p[i] & 0x3f);
    }
    if (c < least[more] || c >= SC_CODES) return 0xfffd;
    *used = (size_t)more + 1;
    return c;
}

sc_str *sc_str_from_utf8(sc_ctx *cx, const char *bytes, size_t n) {
    const uint8_t *p = (const uint8_t *)bytes;
    uint32_t most = 0;
    int64_t len = 0;
    for (size_t i = 0, used; i < n; i += used, len++) most |= utf8_next(p + i, n - i, &used);
    sc_str *s = sc_str_new(cx, sc_str_width(most), len);
    if (!s) return NULL;
    if (most < 0x80) memcpy(s->data, bytes, n);
    else
        for (size_t i = 0, used, k = 0; i < n; i += used) sc_str_put(s->data, s->width, (int64_t)k++, utf8_next(p + i, n - i, &used));
    return s;
}

size_t sc_str_utf8_length(const sc_str *s) {
    size_t n = 0;
    for (int64_t i = 0; i < s->len; i++) {
        uint32_t c = sc_str_code(s, i);
        n += c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    }
    return n;
}

char *sc_str_utf8_write(const sc_str *s, char *to) {
    for (int64_t i = 0; i < s->len; i++) {
        uint32_t c = sc_str_code(s, i);
        int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
        static const uint8_t mark[] = {0, 0xc0, 0xe0, 0xf0};
        *to++ = (char)(mark[more] | c >> 6 * more);
        while (more-- > 0) *to++ = (char)(0x80 | (c >> 6 * more & 0x3f));
    }
    return to;
}

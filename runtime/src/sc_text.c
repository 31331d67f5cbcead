/* sc_text.c - texts with values in them, spelt as Python spells them; str, repr, int() and float() of single values. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sc_text.h"

SC_KERNEL void sc_utf8_add(sc_utf8 *t, const char *piece, size_t n) {
    if (t->len + n + 1 > t->cap) {
        size_t cap = 2 * (t->len + n) + 64;
        char *data = realloc(t->data, cap);
        if (!data) {
            t->failed = true;
            return;
        }
        t->data = data;
        t->cap = cap;
    }
    memcpy(t->data + t->len, piece, n);
    t->len += n;
    t->data[t->len] = '\0';
}

static void text_str(sc_utf8 *t, const sc_str *s) {
    char piece[64 * 4];
    for (int64_t i = 0; i < s->len; i += 64) {
        int64_t n = s->len - i < 64 ? s->len - i : 64;
        sc_str part = {.width = s->width, .len = n, .data = (char *)s->data + i * s->width};
        sc_utf8_add(t, piece, (size_t)(sc_str_utf8_write(&part, piece) - piece));
    }
}

/* Add one to the last digit of d.ddde±dd. Return false if this needs another digit. */
static bool text_increment(char *digits) {
    char *at = strchr(digits, 'e') - 1;
    for (; *at == '9' || *at == '.'; at--) {
        if (*at == '9') *at = '0';
        if (at == digits) return false;
    }
    if (*at < '0') return false;
    ++*at;
    return true;
}

/* Write the digits of |x| with `precision` decimals, and return whether they read back as |x|: the nearest decimal or,
 * if x has closer neighbors below than above, maybe the next. */
static bool text_digits_of(char *digits, size_t room, int precision, double x) {
    snprintf(digits, room, "%.*e", precision, x);
    return strtod(digits, NULL) == x || (text_increment(digits) && strtod(digits, NULL) == x);
}

/* Write repr(x): the fewest digits that read back as x. Every decimal of 15 digits reads back unchanged, unless it is
 * so small that doubles have fewer digits. */
SC_KERNEL void sc_utf8_float(sc_utf8 *t, double x) {
    char digits[40], out[40];
    bool negative = signbit(x);
    if (!isfinite(x)) {
        const char *name = isnan(x) ? "nan" : x < 0 ? "-inf" : "inf";
        sc_utf8_add(t, name, strlen(name));
        return;
    }
    if (negative) sc_utf8_add(t, "-", 1);
    x = fabs(x);
    int precision = x < 1e-290 ? 0 : 14;
    while (!text_digits_of(digits, sizeof digits, precision, x)) precision++; /* 16 decimals always read back */
    char *mark = strchr(digits, 'e');
    int exponent = atoi(mark + 1);
    while (precision > 0 && mark[-1] == '0') memmove(mark - 1, mark, strlen(mark) + 1), mark--, precision--;
    if (precision == 0 && mark[-1] == '.') memmove(mark - 1, mark, strlen(mark) + 1), mark--;
    if (exponent < -4 || exponent >= 16) { /* C and Python both write at least two digits of the exponent */
        sc_utf8_add(t, digits, strlen(digits));
        return;
    }
    char *to = out; /* the same digits, the point elsewhere */
    /* from the first written decimal place */
    for (int i = exponent < 0 ? exponent : 0; i <= precision || i <= exponent + 1; i++) {
        int at = i == 0 ? 0 : i + 1; /* after the point in `digits` */
        *to++ = i < 0 || i > precision ? '0' : digits[at];
        if (i == exponent) *to++ = '.';
    }
    sc_utf8_add(t, out, (size_t)(to - out));
}

/* Insert values into a format as ir/text_formats.py describes it. */
static sc_utf8 text_format(const char *format, va_list *values) {
    sc_utf8 t = {0};
    sc_utf8_add(&t, "", 0);
    while (*format) {
        size_t plain = strcspn(format, "%");
        sc_utf8_add(&t, format, plain);
        format += plain;
        if (*format != '%') break;
        char number[24];
        switch (format[1]) {
        case 'i':
            sc_utf8_add(&t, number, (size_t)snprintf(number, sizeof number, "%lld", (long long)va_arg(*values, int64_t)));
            break;
        case 'b': {
            bool value = va_arg(*values, int);
            sc_utf8_add(&t, value ? "True" : "False", value ? 4 : 5);
            break;
        }
        case 'r': sc_utf8_float(&t, va_arg(*values, double)); break;
        case 's': text_str(&t, va_arg(*values, const sc_str *)); break;
        case 'm':
        case 'n': {
            const sc_error *e = &va_arg(*values, const sc_exc *)->error;
            const char *piece = format[1] == 'm' ? e->message : e->type;
            sc_utf8_add(&t, piece, strlen(piece));
            break;
        }
        default: sc_utf8_add(&t, "%", 1);
        }
        format += 2;
    }
    return t;
}

SC_KERNEL void sc_raise_text(sc_ctx *cx, const char *type, const char *format, ...) {
    va_list values;
    va_start(values, format);
    sc_utf8 t = text_format(format, &values);
    va_end(values);
    sc_raise(cx, type, "%s", t.data ? t.data : ""); /* a message that is cut short is better than none */
    free(t.data);
}

SC_KERNEL void sc_print_text(sc_ctx *cx, const char *format, ...) {
    va_list values;
    va_start(values, format);
    sc_utf8 t = text_format(format, &values);
    va_end(values);
    if (cx->print && t.data) cx->print(cx->user, t.data, t.len);
    free(t.data);
}

SC_KERNEL void sc_warn_text(sc_ctx *cx, int loc, const char *category, const char *format, ...) {
    va_list values;
    va_start(values, format);
    sc_utf8 t = text_format(format, &values);
    va_end(values);
    sc_warn(cx, loc, category, t.data ? t.data : "");
    free(t.data);
}

SC_KERNEL sc_str *sc_utf8_made(sc_ctx *cx, sc_utf8 *t) {
    sc_str *s = NULL;
    if (t->failed) sc_raise(cx, "MemoryError", "%s", "");
    else s = sc_str_from_utf8(cx, t->data, t->len);
    free(t->data);
    return s;
}

SC_KERNEL sc_str *sc_str_text(sc_ctx *cx, const char *format, ...) {
    va_list values;
    va_start(values, format);
    sc_utf8 t = text_format(format, &values);
    va_end(values);
    return sc_utf8_made(cx, &t);
}

/* ---- repr ---- */

static size_t text_escape(char out[16], uint32_t c) {
    return (size_t)snprintf(out, 16, c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x", (unsigned)c);
}

static void text_repr(sc_utf8 *t, const sc_str *s) {
    bool single = sc_str_holds(s, '\''), quoted = sc_str_holds(s, '"');
    char quote = single && !quoted ? '"' : '\'', out[16];
    sc_utf8_add(t, &quote, 1);
    for (int64_t i = 0; i < s->len; i++) {
        uint32_t c = sc_str_code(s, i);
        size_t n;
        if (c == (uint32_t)quote || c == '\\') n = (size_t)snprintf(out, sizeof out, "\\%c", (int)c);
        else if (c == '\n' || c == '\t' || c == '\r') n = (size_t)snprintf(out, sizeof out, "\\%c", c == '\n' ? 'n' : c == '\t' ? 't' : 'r');
        else if (c < 128 ? c >= 32 && c < 127 : sc_unicode_has(c, SC_PRINTABLE)) {
            sc_str one = {.width = 4, .len = 1, .data = &c};
            n = (size_t)(sc_str_utf8_write(&one, out) - out);
        } else n = text_escape(out, c);
        sc_utf8_add(t, out, n);
    }
    sc_utf8_add(t, &quote, 1);
}

SC_KERNEL sc_str *sc_str_repr(sc_ctx *cx, const sc_str *s) {
    sc_utf8 t = {0};
    text_repr(&t, s);
    return sc_utf8_made(cx, &t);
}

SC_KERNEL sc_str *sc_str_escaped(sc_ctx *cx, const sc_str *s) {
    sc_utf8 t = {0};
    for (int64_t i = 0; i < s->len; i++) {
        char out[16] = {(char)sc_str_code(s, i)};
        sc_utf8_add(&t, out, sc_str_code(s, i) < 128 ? 1 : text_escape(out, sc_str_code(s, i)));
    }
    return sc_utf8_made(cx, &t);
}

SC_KERNEL sc_str *sc_float_hex(sc_ctx *cx, double x) {
    char out[32];
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const char *sign = signbit(x) && !isnan(x) ? "-" : "";
    int exponent = (int)(bits >> 52 & 2047), n;
    if (!isfinite(x)) n = snprintf(out, sizeof out, "%s%s", sign, isnan(x) ? "nan" : "inf");
    else if (x == 0) n = snprintf(out, sizeof out, "%s0x0.0p+0", sign);
    else { /* numbers too small for a leading one have the exponent of the smallest that has it */
        n = snprintf(out, sizeof out, "%s0x%d.%013llxp%+d", sign, exponent != 0, (unsigned long long)bits & 0xfffffffffffff,
                     exponent ? exponent - 1023 : -1022);
    }
    return sc_str_from_utf8(cx, out, (size_t)n);
}

/* ---- int() and float() ---- */

/* Return the ASCII character that a code stands for in a number: Python accepts digits and spaces of all scripts. */
static char text_ascii(uint32_t c) {
    if (c < 128) return c && sc_code_is(c, SC_SPACE) ? ' ' : (char)c;
    int digit = sc_unicode_decimal(c);
    return digit >= 0 ? (char)('0' + digit) : sc_unicode_has(c, SC_SPACE) ? ' ' : '?';
}

/* Return the text of a number as ASCII, without surrounding spaces. Text that cannot be a number may be cut. */
static sc_utf8 text_stripped(const sc_str *s) {
    sc_utf8 t = {0};
    int64_t from = 0, to = s->len;
    while (from < to && text_ascii(sc_str_code(s, from)) == ' ') from++;
    while (to > from && text_ascii(sc_str_code(s, to - 1)) == ' ') to--;
    sc_utf8_add(&t, "", 0);
    for (int64_t i = from; i < to; i++) {
        char c = text_ascii(sc_str_code(s, i));
        if (c == 0) c = '?';
        sc_utf8_add(&t, &c, 1);
    }
    return t;
}

static int text_refused(sc_ctx *cx, sc_utf8 *number, const sc_str *s, const char *what, int64_t base) {
    sc_utf8 t = {0};
    free(number->data);
    if (number->failed) return sc_raise(cx, "MemoryError", "%s", "");
    text_repr(&t, s);
    if (base < 0) sc_raise(cx, "ValueError", "%s: %s", what, t.data ? t.data : "");
    else sc_raise(cx, "ValueError", "%s %d: %s", what, (int)base, t.data ? t.data : "");
    free(t.data);
    return -1;
}

static int text_digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'z' ? c - 'a' + 10 : c >= 'A' && c <= 'Z' ? c - 'A' + 10 : 99;
}

SC_KERNEL int sc_int_parse(sc_ctx *cx, const sc_str *s, int64_t base, int64_t *out) {
    *out = 0;
    if (base != 0 && (base < 2 || base > 36)) return sc_raise(cx, "ValueError", "int() base must be >= 2 and <= 36, or 0");
    sc_utf8 t = text_stripped(s);
    const char *p = t.data ? t.data : "", *what = "invalid literal for int() with base";
    int64_t shown = base, value = 0;
    bool negative = *p == '-', too_large = false, only_zero = false;
    if (*p == '-' || *p == '+') p++;
    char mark = *p == '0' ? (char)(p[1] | 32) : 0;
    int64_t implied = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
    if (implied && (base == 0 || base == implied)) {
        base = implied;
        p += 2;
        if (*p == '_') p++;
    } else if (base == 0) {
        base = 10;
        only_zero = *p == '0'; /* 010 would be octal in C */
    }
    do {
        int digit = text_digit(*p);
        if (digit >= base) return text_refused(cx, &t, s, what, shown);
        if (only_zero && digit) return text_refused(cx, &t, s, what, shown);
        too_large = too_large || __builtin_mul_overflow(value, base, &value) ||
                    __builtin_sub_overflow(value, (int64_t)digit, &value); /* negative, so that the least one fits */
        p++;
        if (*p == '_') p++;
        else if (!*p) break;
    } while (true);
    if (t.failed) return text_refused(cx, &t, s, what, shown);
    free(t.data);
    if (too_large || (!negative && __builtin_sub_overflow(0, value, &value)))
        return sc_raise(cx, "OverflowError", "Python int too large to convert to C long");
    *out = value;
    return 0;
}

/* Read digits with single underscores between them, and copy the digits. */
static const char *text_digits(const char *p, char **to) {
    while (*p >= '0' && *p <= '9') {
        *(*to)++ = *p++;
        if (*p == '_' && p[1] >= '0' && p[1] <= '9') p++;
    }
    return p;
}

static bool text_is_name(const char *p, const char *name) {
    while (*name && (*p | 32) == *name) p++, name++;
    return !*name && !*p;
}

SC_KERNEL int sc_float_parse(sc_ctx *cx, const sc_str *s, double *out) {
    const char *what = "could not convert string to float";
    sc_utf8 t = text_stripped(s);
    if (t.failed) return text_refused(cx, &t, s, what, -1);
    char *to = t.data; /* written over t.data, shorter by the underscores */
    const char *p = t.data, *digits;
    bool negative = *p == '-', any = false;
    if (*p == '-' || *p == '+') *to++ = *p++;
    if (text_is_name(p, "inf") || text_is_name(p, "infinity") || text_is_name(p, "nan")) {
        *out = (*p | 32) == 'n' ? NAN : INFINITY;
        if (negative) *out = -*out;
        free(t.data);
        return 0;
    }
    p = text_digits(digits = p, &to);
    any = p > digits;
    if (*p == '.') {
        *to++ = *p++;
        p = text_digits(digits = p, &to);
        any = any || p > digits;
    }
    if (any && (*p | 32) == 'e') {
        *to++ = *p++;
        if (*p == '-' || *p == '+') *to++ = *p++;
        p = text_digits(digits = p, &to);
        any = p > digits;
    }
    if (!any || *p) return text_refused(cx, &t, s, what, -1);
    *to = 0;
    *out = strtod(t.data, NULL);
    free(t.data);
    return 0;
}

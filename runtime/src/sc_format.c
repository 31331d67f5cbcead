/* sc_format.c - format(value, spec), with the specs of ints, floats and strings. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sc_text.h"

typedef struct format_spec { /* [[fill]align][sign][z][#][0][width][grouping][.precision][type] */
    uint32_t fill;
    char align, sign, grouping, type; /* 0: not given */
    bool no_minus_zero, alternate;
    int64_t width, precision; /* -1: not given */
} format_spec;

static int64_t spec_number(const sc_str *s, int64_t *at) {
    int64_t n = -1;
    for (; *at < s->len && sc_unicode_decimal(sc_str_code(s, *at)) >= 0; ++*at) {
        n = (n < 0 ? 0 : n) * 10 + sc_unicode_decimal(sc_str_code(s, *at));
        if (n > INT_MAX) return INT64_MAX;
    }
    return n;
}

static inline uint32_t spec_at(const sc_str *s, int64_t i) {
    return i < s->len ? sc_str_code(s, i) : 0;
}

static bool format_one_of(uint32_t c, const char *chars) {
    return c && c < 128 && strchr(chars, (int)c);
}

static int spec_read(sc_ctx *cx, const sc_str *s, char align, format_spec *out) {
    int64_t i = 0;
    bool filled = false, aligned = true;
    *out = (format_spec){.fill = ' ', .align = align, .width = -1, .precision = -1};
    if (format_one_of(spec_at(s, 1), "<>=^")) {
        out->fill = sc_str_code(s, 0);
        out->align = (char)sc_str_code(s, 1);
        filled = true;
        i = 2;
    } else if (format_one_of(spec_at(s, 0), "<>=^")) out->align = (char)sc_str_code(s, i++);
    else aligned = false;
    if (format_one_of(spec_at(s, i), "+- ")) out->sign = (char)sc_str_code(s, i++);
    if (spec_at(s, i) == 'z') out->no_minus_zero = true, i++;
    if (spec_at(s, i) == '#') out->alternate = true, i++;
    if (!filled && spec_at(s, i) == '0') {
        out->fill = '0';
        if (!aligned && align == '>') out->align = '=';
        i++;
    }
    out->width = spec_number(s, &i);
    if (format_one_of(spec_at(s, i), ",_")) out->grouping = (char)sc_str_code(s, i++);
    if (format_one_of(spec_at(s, i), ",_"))
        return sc_raise(cx, "ValueError", spec_at(s, i) == (uint32_t)out->grouping ? "Cannot specify '%c' with '%c'."
                                                                                    : "Cannot specify both '%c' and '%c'.",
                        out->grouping, (int)spec_at(s, i));
    if (spec_at(s, i) == '.') {
        i++;
        if ((out->precision = spec_number(s, &i)) < 0) return sc_raise(cx, "ValueError", "Format specifier missing precision");
    }
    if (out->width > INT_MAX || out->precision > INT_MAX) return sc_raise(cx, "ValueError", "Too many decimal digits in format string");
    if (s->len - i > 1) return sc_raise(cx, "ValueError", "Invalid format specifier");
    if (i < s->len) {
        uint32_t type = sc_str_code(s, i);
        out->type = type < 128 ? (char)type : '?';
    }
    return 0;
}

static sc_str *format_unknown(sc_ctx *cx, const format_spec *f, const char *class) {
    sc_raise(cx, "ValueError", "Unknown format code '%c' for object of type '%s'", f->type, class);
    return NULL;
}

/* Make a string of n code points with the fill before and after them. *at becomes their position. */
static sc_str *format_filled(sc_ctx *cx, const format_spec *f, int width, int64_t n, int64_t inner, int64_t *at) {
    int64_t pad = f->width > n ? f->width - n : 0;
    int64_t left = f->align == '<' ? 0 : f->align == '^' ? pad / 2 : f->align == '=' ? 0 : pad;
    int fill = pad == 0 ? 1 : sc_str_width(f->fill);
    sc_str *made = sc_str_new(cx, fill > width ? fill : width, n + pad);
    *at = left;
    for (int64_t i = 0; made && i < n + pad; i++) {
        bool is_fill = f->align == '=' ? i >= inner && i < inner + pad : i < left || i >= left + n;
        if (!is_fill) continue;
        sc_str_put(made->data, made->width, i, f->fill);
    }
    return made;
}

/* Write digits with a separator before each group, after zeros that make `least` characters. */
static void format_grouped(sc_utf8 *t, const char *digits, int64_t n, char separator, int every, int64_t least) {
    int64_t count = n;
    if (separator)
        while (n && count + (count - 1) / every < least) count++;
    else if (count < least) count = least;
    for (int64_t i = 0; i < count; i++) {
        sc_utf8_add(t, i < count - n ? "0" : digits + (i - (count - n)), 1);
        if (separator && i + 1 < count && (count - 1 - i) % every == 0) sc_utf8_add(t, &separator, 1);
    }
}

/* Format a number from its sign, prefix, digits to be grouped, and rest, filled up to the width. */
static sc_str *format_number(sc_ctx *cx, const format_spec *f, bool negative, const char *prefix, const char *digits, int64_t n, int every,
                           const char *rest) {
    sc_utf8 t = {0};
    char sign = negative ? '-' : f->sign == '+' || f->sign == ' ' ? f->sign : 0;
    sc_utf8_add(&t, &sign, sign != 0);
    sc_utf8_add(&t, prefix, strlen(prefix));
    int64_t before = (int64_t)t.len;
    bool zeros = f->fill == '0' && f->align == '=';
    format_grouped(&t, digits, n, f->grouping, every, zeros ? f->width - before - (int64_t)strlen(rest) : 0);
    sc_utf8_add(&t, rest, strlen(rest));
    int64_t at;
    sc_str *made = t.failed ? (sc_raise(cx, "MemoryError", "%s", ""), NULL) : format_filled(cx, f, 1, (int64_t)t.len, before, &at);
    for (int64_t i = 0; made && i < (int64_t)t.len; i++) {
        int64_t to = f->align == '=' && i >= before ? made->len - (int64_t)t.len + i : at + i;
        sc_str_put(made->data, made->width, to, t.data[i]);
    }
    free(t.data);
    return made;
}

/* ---- floats ---- */

/* Format like %g, but with a digit after the point if there is no exponent: for a precision without a type. */
static void format_general(sc_utf8 *t, double x, int precision, bool alternate) {
    char small[512];
    if (precision < 1) precision = 1;
    if (precision > 400) precision = 400; /* no double has more digits */
    snprintf(small, sizeof small, alternate ? "%#.*e" : "%.*e", precision - 1, x);
    char *mark = strchr(small, 'e');
    int exponent = atoi(mark + 1), digits = precision;
    if (exponent < -4 || exponent >= precision - 1) {
        while (!alternate && digits > 1 && mark[-1] == '0') memmove(mark - 1, mark, strlen(mark) + 1), mark--, digits--;
        if (!alternate && mark[-1] == '.') memmove(mark - 1, mark, strlen(mark) + 1);
        sc_utf8_add(t, small, strlen(small));
        return;
    }
    snprintf(small, sizeof small, "%.*f", precision - 1 - exponent, x);
    size_t n = strlen(small);
    char *point = strchr(small, '.');
    while (!alternate && n > (size_t)(point - small) + 2 && small[n - 1] == '0') small[--n] = 0;
    sc_utf8_add(t, small, n);
}

SC_KERNEL sc_str *sc_float_format(sc_ctx *cx, double value, const sc_str *text) {
    format_spec f;
    if (spec_read(cx, text, '>', &f)) return NULL;
    char type = f.type;
    if (type && !strchr("eEfFgGn%", type)) return format_unknown(cx, &f, "float");
    if (type == 'n' && f.grouping) return sc_raise(cx, "ValueError", "Cannot specify '%c' with 'n'.", f.grouping), NULL;
    bool negative = signbit(value) && !isnan(value);
    double x = fabs(type == '%' ? value * 100 : value);
    sc_utf8 t = {0};
    sc_utf8_add(&t, "", 0);
    if (!isfinite(x)) {
        const char *names[] = {"inf", "nan", "INF", "NAN"};
        sc_utf8_add(&t, names[isnan(x) + 2 * (type == 'E' || type == 'F' || type == 'G')], 3);
    } else if (!type && f.precision < 0) {
        sc_utf8_float(&t, x);
        char *mark = t.failed || strchr(t.data, '.') ? NULL : strchr(t.data, 'e');
        if (f.alternate && mark) { /* a point before the exponent */
            char exponent[16];
            snprintf(exponent, sizeof exponent, ".%s", mark);
            t.len = (size_t)(mark - t.data);
            sc_utf8_add(&t, exponent, strlen(exponent));
        }
    } else if (!type) {
        format_general(&t, x, f.precision > INT_MAX ? INT_MAX : (int)f.precision, f.alternate);
    } else {
        char c[] = {'%', '#', '.', '*', type == '%' ? 'f' : type == 'n' ? 'g' : type, 0}, *format = c;
        if (!f.alternate) c[1] = '%', format = c + 1;
        int precision = f.precision < 0 ? 6 : (int)f.precision, n = snprintf(NULL, 0, format, precision, x);
        char *room = n >= 0 ? malloc((size_t)n + 1) : NULL;
        t.failed = !room;
        if (room) {
            snprintf(room, (size_t)n + 1, format, precision, x);
            sc_utf8_add(&t, room, (size_t)n);
        }
        free(room);
    }
    if (type == '%') sc_utf8_add(&t, "%", 1);
    if (t.failed) {
        free(t.data);
        return sc_raise(cx, "MemoryError", "%s", ""), NULL;
    }
    if (negative && f.no_minus_zero && isfinite(x)) negative = strcspn(t.data, "123456789") < strcspn(t.data, "eE%");
    int64_t digits = (int64_t)strspn(t.data, "0123456789");
    char *rest = t.data + digits, *whole = malloc((size_t)digits + 1);
    sc_str *made = NULL;
    if (whole) {
        memcpy(whole, t.data, (size_t)digits);
        made = format_number(cx, &f, negative, "", whole, digits, 3, rest);
    } else sc_raise(cx, "MemoryError", "%s", "");
    free(whole);
    free(t.data);
    return made;
}

/* ---- ints ---- */

SC_KERNEL sc_str *sc_int_format(sc_ctx *cx, int64_t value, const sc_str *text) {
    format_spec f;
    if (spec_read(cx, text, '>', &f)) return NULL;
    char type = f.type ? f.type : 'd', digits[65];
    if (strchr("eEfFgG%", type)) return sc_float_format(cx, (double)value, text);
    if (!strchr("bcdoxXn", type)) return format_unknown(cx, &f, "int");
    if (f.precision >= 0) return sc_raise(cx, "ValueError", "Precision not allowed in integer format specifier"), NULL;
    if (f.no_minus_zero) return sc_raise(cx, "ValueError", "Negative zero coercion (z) not allowed in format specifier with integer presentation type"), NULL;
    if (f.grouping && (type == 'n' || type == 'c' || (f.grouping == ',' && type != 'd')))
        return sc_raise(cx, "ValueError", "Cannot specify '%c' with '%c'.", f.grouping, type), NULL;
    if (type == 'c') {
        if (f.sign) return sc_raise(cx, "ValueError", "Sign not allowed with integer format specifier 'c'"), NULL;
        if (f.alternate) return sc_raise(cx, "ValueError", "Alternate form (#) not allowed with integer format specifier 'c'"), NULL;
        if (value < 0 || value >= SC_CODES) return sc_raise(cx, "OverflowError", "%%c arg not in range(0x110000)"), NULL;
        uint32_t code = (uint32_t)value;
        int64_t at;
        sc_str *made = format_filled(cx, &f, sc_str_width(code), 1, 0, &at);
        if (!made) return NULL;
        if (f.align == '=') at = made->len - 1;
        sc_str_put(made->data, made->width, at, code);
        return made;
    }
    int base = type == 'b' ? 2 : type == 'o' ? 8 : type == 'x' || type == 'X' ? 16 : 10, n = 0;
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    char reversed[65];
    do reversed[n++] = (type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef")[left % (uint64_t)base];
    while (left /= (uint64_t)base);
    for (int i = 0; i < n; i++) digits[i] = reversed[n - 1 - i];
    const char *prefix = !f.alternate || base == 10 ? "" : type == 'b' ? "0b" : type == 'o' ? "0o" : type == 'x' ? "0x" : "0X";
    return format_number(cx, &f, value < 0, prefix, digits, n, base == 10 ? 3 : 4, "");
}

/* ---- strings ---- */

SC_KERNEL sc_str *sc_str_format(sc_ctx *cx, sc_str *value, const sc_str *text) {
    format_spec f;
    int64_t at;
    if (spec_read(cx, text, '<', &f)) return NULL;
    if (f.type && f.type != 's') return format_unknown(cx, &f, "str");
    if (f.sign) return sc_raise(cx, "ValueError", "Sign not allowed in string format specifier"), NULL;
    if (f.no_minus_zero) return sc_raise(cx, "ValueError", "Negative zero coercion (z) not allowed in string format specifier"), NULL;
    if (f.alternate) return sc_raise(cx, "ValueError", "Alternate form (#) not allowed in string format specifier"), NULL;
    if (f.grouping) return sc_raise(cx, "ValueError", "Cannot specify '%c' with 's'.", f.grouping), NULL;
    if (f.align == '=') return sc_raise(cx, "ValueError", "'=' alignment not allowed in string format specifier"), NULL;
    sc_str *cut = sc_str_part(cx, value, 0, f.precision >= 0 && f.precision < value->len ? f.precision : value->len);
    if (!cut || f.width <= cut->len) return cut;
    sc_str *made = format_filled(cx, &f, cut->width, cut->len, 0, &at);
    for (int64_t i = 0; made && i < cut->len; i++) {
        uint32_t c = sc_str_code(cut, i);
        sc_str_put(made->data, made->width, at + i, c);
    }
    sc_release(cx, cut);
    return made;
}

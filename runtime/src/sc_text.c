/* sc_text.c - messages and prints with numbers in them, spelt as Python spells them. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../include/sc_ops.h"

enum { NUMBER = 400, SPEC = 24 }; /* bytes of a number's text (1e308 with ".2f" has 312), of a conversion */

typedef struct text { /* grows while memory lasts; a message that is cut short is better than none */
    char *data;
    size_t len, cap;
} text;

static void text_add(text *t, const char *piece, size_t n) {
    if (t->len + n + 1 > t->cap) {
        size_t cap = 2 * (t->len + n) + 64;
        char *data = realloc(t->data, cap);
        if (!data) return;
        t->data = data;
        t->cap = cap;
    }
    memcpy(t->data + t->len, piece, n);
    t->len += n;
    t->data[t->len] = '\0';
}

/* repr(x): the fewest digits that read back as x. */
static void text_float(text *t, double x) {
    char digits[40], out[NUMBER];
    if (!isfinite(x)) {
        const char *name = isnan(x) ? "nan" : x < 0 ? "-inf" : "inf";
        text_add(t, name, strlen(name));
        return;
    }
    int precision = 0;
    do snprintf(digits, sizeof digits, "%.*e", precision, x);
    while (strtod(digits, NULL) != x && ++precision < 17);
    int exponent = atoi(strchr(digits, 'e') + 1);
    if (exponent < -4 || exponent >= 16) {
        char *mark = strchr(digits, 'e'); /* C and Python both write at least two digits of the exponent */
        snprintf(out, sizeof out, "%.*s%s", (int)(mark - digits), digits, mark);
    } else {
        int decimals = precision > exponent ? precision - exponent : 1;
        snprintf(out, sizeof out, "%.*f", decimals, x);
    }
    text_add(t, out, strlen(out));
}

/* A conversion of the format: %i int, %b bool, %r float as repr, %m and %n message and class of an
 * exception, else printf's own for a double (f, e) or an int (d). */
static const char *text_number(text *t, const char *at, va_list *values) {
    char spec[SPEC], out[NUMBER];
    size_t n = strcspn(at, "ibrfedmn");
    char kind = at[n];
    if (kind == 'm' || kind == 'n') {
        const sc_error *e = &va_arg(*values, const sc_exc *)->error;
        const char *piece = kind == 'm' ? e->message : e->type;
        text_add(t, piece, strlen(piece));
    } else if (kind == 'b') {
        bool value = va_arg(*values, int);
        text_add(t, value ? "True" : "False", value ? 4 : 5);
    } else if (kind == 'r') {
        text_float(t, va_arg(*values, double));
    } else if (kind == 'i' || kind == 'd') {
        snprintf(spec, sizeof spec, "%%%.*slld", (int)n, at);
        snprintf(out, sizeof out, spec, (long long)va_arg(*values, int64_t));
        text_add(t, out, strlen(out));
    } else {
        double value = va_arg(*values, double);
        snprintf(spec, sizeof spec, "%%%.*s%c", (int)n, at, kind);
        snprintf(out, sizeof out, spec, isnan(value) ? fabs(value) : value); /* C may write -nan */
        text_add(t, out, strlen(out));
    }
    return at + n + 1;
}

static text text_format(const char *format, va_list *values) {
    text t = {NULL, 0, 0};
    text_add(&t, "", 0);
    while (*format) {
        size_t plain = strcspn(format, "%");
        text_add(&t, format, plain);
        format += plain;
        if (*format != '%') break;
        if (format[1] == '%') {
            text_add(&t, "%", 1);
            format += 2;
        } else {
            format = text_number(&t, format + 1, values);
        }
    }
    return t;
}

SC_KERNEL void sc_raise_text(sc_ctx *cx, const char *type, const char *format, ...) {
    va_list values;
    va_start(values, format);
    text t = text_format(format, &values);
    va_end(values);
    sc_raise(cx, type, "%s", t.data ? t.data : "");
    free(t.data);
}

SC_KERNEL void sc_print_text(sc_ctx *cx, const char *format, ...) {
    va_list values;
    va_start(values, format);
    text t = text_format(format, &values);
    va_end(values);
    if (cx->print && t.data) cx->print(cx->user, t.data);
    free(t.data);
}

/* sc_tensor_text.c - the text of a tensor, spelt as torch/_tensor_str.py spells it for tensors on the CPU. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sc_text.h"

/* The format of all numbers of a tensor; complex tensors have one for each part. */
typedef struct number_style {
    bool whole, scientific;
    int width;
} number_style;

typedef struct printer {
    sc_utf8 out;
    const sc_tensor *x;
    int64_t precision, edgeitems, linewidth;
    bool summarize; /* long dims are shown by their first and last items */
    number_style style[2];
} printer;

static double print_float_at(const printer *p, const char *at, int part) {
    double value;
    int dtype = p->x->dtype;
    if (sc_is_complex(dtype)) {
        dtype = sc_part(dtype);
        at += part * (int64_t)sc_dtype_size(dtype);
    }
    sc_convert_row(&value, SC_F64, 1, at, dtype, 1, 1);
    return value;
}

/* Print a float through `room`, or through allocated memory if the precision needs more. Python prints no sign before
 * nan. */
static void print_float(sc_utf8 *t, double x, bool scientific, int64_t precision) {
    char room[512];
    if (isnan(x)) {
        sc_utf8_add(t, "nan", 3);
        return;
    }
    int n = snprintf(room, sizeof room, scientific ? "%.*e" : "%.*f", (int)precision, x);
    if (n < (int)sizeof room) {
        sc_utf8_add(t, room, (size_t)n);
        return;
    }
    char *more = malloc((size_t)n + 1);
    if (more) {
        snprintf(more, (size_t)n + 1, scientific ? "%.*e" : "%.*f", (int)precision, x);
        sc_utf8_add(t, more, (size_t)n);
    } else t->failed = true;
    free(more);
}

static void print_number(sc_utf8 *t, const printer *p, const char *at, int part) {
    int dtype = p->x->dtype;
    if (dtype == SC_BOOL) {
        sc_utf8_add(t, *at ? "True" : "False", *at ? 4 : 5);
    } else if (!sc_is_float(dtype) && !sc_is_complex(dtype)) {
        int64_t value;
        char number[24];
        sc_convert_row(&value, SC_I64, 1, at, dtype, 1, 1);
        sc_utf8_add(t, number, (size_t)snprintf(number, sizeof number, "%lld", (long long)value));
    } else {
        double value = print_float_at(p, at, part);
        const number_style *s = &p->style[part];
        bool whole = s->whole && !s->scientific;
        print_float(t, value, s->scientific, whole ? 0 : p->precision);
        if (whole && isfinite(value)) sc_utf8_add(t, ".", 1);
    }
}

static void print_spaces(sc_utf8 *t, int64_t n) {
    for (; n > 0; n--) sc_utf8_add(t, " ", 1);
}

/* Print an element, padded on the left. The sign of a complex element's imaginary part is between its parts. */
static void print_element(printer *p, const char *at) {
    for (int part = 0; part <= sc_is_complex(p->x->dtype); part++) {
        sc_utf8 number = {0};
        sc_utf8_add(&number, "", 0);
        print_number(&number, p, at, part);
        p->out.failed |= number.failed;
        if (number.data) {
            if (part == 0) print_spaces(&p->out, p->style[0].width - (int64_t)number.len);
            else if (*number.data != '-') sc_utf8_add(&p->out, "+", 1);
            sc_utf8_add(&p->out, number.data, number.len);
        }
        free(number.data);
    }
    if (sc_is_complex(p->x->dtype)) sc_utf8_add(&p->out, "j", 1);
}

static const char *print_item_at(const printer *p, const char *base, int dim, int64_t i) {
    return base + i * p->x->stride[dim] * (int64_t)sc_dtype_size(p->x->dtype);
}

static bool print_is_cut(const printer *p, int dim) {
    return p->summarize && p->x->size[dim] > 2 * p->edgeitems;
}

/* ---- the common format of all shown elements ---- */

typedef struct number_range {
    double least, most; /* of the elements that are neither zero nor infinite; 0: there are none */
    bool whole;
} number_range;

typedef void visit_fn(printer *p, const char *at, int part, void *seen);

static void visit_shown(printer *p, const char *base, int dim, int part, visit_fn *visit, void *seen) {
    if (dim == p->x->rank) {
        visit(p, base, part, seen);
        return;
    }
    int64_t n = p->x->size[dim];
    for (int64_t i = 0; i < n; i++) {
        if (i == p->edgeitems && print_is_cut(p, dim)) i = n - p->edgeitems;
        if (i < n) visit_shown(p, print_item_at(p, base, dim, i), dim + 1, part, visit, seen);
    }
}

static void visit_range(printer *p, const char *at, int part, void *seen) {
    number_range *r = seen;
    double value = print_float_at(p, at, part), size = fabs(value);
    if (size == 0 || !isfinite(value)) return;
    r->least = r->most == 0 || size < r->least ? size : r->least;
    r->most = size > r->most ? size : r->most;
    r->whole = r->whole && value == ceil(value);
}

static void visit_width(printer *p, const char *at, int part, void *seen) {
    int *width = seen, dtype = p->x->dtype;
    bool is_float = sc_is_float(dtype) || sc_is_complex(dtype);
    double value = is_float ? print_float_at(p, at, part) : 1;
    if (value == 0 || !isfinite(value)) return;
    sc_utf8 number = {0};
    print_number(&number, p, at, part);
    p->out.failed |= number.failed;
    if ((int)number.len > *width) *width = (int)number.len;
    free(number.data);
}

static void choose_style(printer *p, int part, int scientific) {
    number_style *s = &p->style[part];
    int dtype = p->x->dtype;
    *s = (number_style){.whole = true, .width = 1};
    if (sc_is_float(dtype) || sc_is_complex(dtype)) {
        number_range r = {.whole = true};
        visit_shown(p, p->x->data, 0, part, visit_range, &r);
        if (r.most == 0) return;
        s->whole = r.whole;
        s->scientific = scientific < 0 ? r.most / r.least > 1000 || r.most > 1e8 || r.least < 1e-4 : scientific;
    }
    visit_shown(p, p->x->data, 0, part, visit_width, &s->width);
}

/* ---- the elements ---- */

static void print_row(printer *p, const char *base, int dim, int64_t indent) {
    int64_t n = p->x->size[dim], column = 0, width = p->style[0].width + 2;
    if (sc_is_complex(p->x->dtype)) width += p->style[1].width + 1;
    int64_t per_line = p->linewidth - indent >= width ? (p->linewidth - indent) / width : 1;
    bool cut = print_is_cut(p, dim), all_cut = p->summarize && p->edgeitems == 0;
    if (all_cut) sc_utf8_add(&p->out, "...", 3);
    for (int64_t i = 0; i < n && !all_cut; i++, column++) {
        if (column && column % per_line == 0) {
            sc_utf8_add(&p->out, ",\n", 2);
            print_spaces(&p->out, indent + 1);
        } else if (column) sc_utf8_add(&p->out, ", ", 2);
        if (cut && i == p->edgeitems) {
            sc_utf8_add(&p->out, " ...", 4);
            i = n - p->edgeitems - 1;
        } else print_element(p, print_item_at(p, base, dim, i));
    }
}

static void print_items(printer *p, const char *base, int dim, int64_t indent) {
    if (dim == p->x->rank) {
        print_element(p, base);
        return;
    }
    sc_utf8_add(&p->out, "[", 1);
    if (dim == p->x->rank - 1) print_row(p, base, dim, indent);
    else {
        int64_t n = p->x->size[dim];
        for (int64_t i = 0, shown = 0; i < n; i++, shown++) {
            if (shown) {
                sc_utf8_add(&p->out, ",", 1);
                for (int d = dim + 1; d < p->x->rank; d++) sc_utf8_add(&p->out, "\n", 1);
                print_spaces(&p->out, indent + 1);
            }
            if (print_is_cut(p, dim) && i == p->edgeitems) {
                sc_utf8_add(&p->out, "...", 3);
                i = n - p->edgeitems - 1;
            } else print_items(p, print_item_at(p, base, dim, i), dim + 1, indent + 1);
        }
    }
    sc_utf8_add(&p->out, "]", 1);
}

/* ---- what follows them ---- */

static int64_t print_last_line(const sc_utf8 *t) { /* its length, counted as torch does */
    const char *newline = t->data ? strrchr(t->data, '\n') : NULL;
    return newline ? (int64_t)(t->data + t->len - newline) + 1 : (int64_t)t->len + 2;
}

static void print_suffix(printer *p, int64_t *line, int64_t indent, const sc_utf8 *suffix) {
    if (*line + (int64_t)suffix->len + 2 > p->linewidth) {
        sc_utf8_add(&p->out, ",\n", 2);
        print_spaces(&p->out, indent);
        *line = indent;
    } else {
        sc_utf8_add(&p->out, ", ", 2);
        *line += 2;
    }
    *line += (int64_t)suffix->len;
    if (suffix->data) sc_utf8_add(&p->out, suffix->data, suffix->len);
    p->out.failed |= suffix->failed;
}

static void print_size(printer *p, int64_t *line, int64_t indent) {
    sc_utf8 t = {0};
    char number[32];
    sc_utf8_add(&t, "size=(", 6);
    for (int d = 0; d < p->x->rank; d++)
        sc_utf8_add(&t, number, (size_t)snprintf(number, sizeof number, d ? ", %lld" : "%lld", (long long)p->x->size[d]));
    sc_utf8_add(&t, ",)", 2);
    if (p->x->rank != 1 && t.data) t.data[--t.len] = 0, t.data[t.len - 1] = ')';
    print_suffix(p, line, indent, &t);
    free(t.data);
}

static void print_dtype(printer *p, int64_t *line, int64_t indent) {
    static const char *const names[SC_NDTYPES] = {"bool",    "uint8",    "int8",    "int16",   "int32",     "int64",
                                                  "float16", "bfloat16", "float32", "float64", "complex64", "complex128"};
    sc_utf8 t = {0};
    sc_utf8_add(&t, "dtype=torch.", 12);
    sc_utf8_add(&t, names[p->x->dtype], strlen(names[p->x->dtype]));
    print_suffix(p, line, indent, &t);
    free(t.data);
}

SC_KERNEL sc_str *sc_tensor_text(sc_ctx *cx, const sc_tensor *x, int64_t precision, int64_t threshold, int64_t edgeitems,
                                 int64_t linewidth, int default_dtype, int scientific) {
    const int64_t indent = 7; /* after "tensor(" */
    bool is_complex = sc_is_complex(x->dtype), is_empty = x->numel == 0;
    printer p = {.x = x, .precision = precision, .edgeitems = edgeitems, .linewidth = linewidth,
                 .summarize = x->numel > threshold};
    sc_utf8_add(&p.out, "tensor(", 7);
    if (is_empty) sc_utf8_add(&p.out, "[]", 2);
    else {
        for (int part = 0; part <= is_complex; part++) choose_style(&p, part, scientific);
        print_items(&p, x->data, 0, indent);
    }
    int64_t line = print_last_line(&p.out);
    if (is_empty ? x->rank != 1 : edgeitems == 0) print_size(&p, &line, indent);
    bool plain = x->dtype == default_dtype;
    if (!is_empty)
        plain = plain || x->dtype == SC_I64 || x->dtype == SC_BOOL || x->dtype == (default_dtype == SC_F64 ? SC_C128 : SC_C64);
    if (!plain) print_dtype(&p, &line, indent);
    sc_utf8_add(&p.out, ")", 1);
    return sc_utf8_made(cx, &p.out);
}

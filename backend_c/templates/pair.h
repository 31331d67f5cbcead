/* pair.h - recorded calls and their comparison, for test drivers. Made by scriptc.
 *
 * A file holds "SCPAIR01", then 64-bit little-endian words: the entry, the counts of arguments and of results, the
 * arguments, the expected results and the reference results (float64). A value is a tag and its data. 0: none; 1: a
 * tensor, as dtype, rank, sizes, strides, and the elements in row-major order, padded to whole words; 2: an integer; 3:
 * a double; 4: a bool; 5: a list, as length and values; 6: a string, as length and UTF-8, padded to whole words. */
#ifndef SCRIPTC_PAIR_H
#define SCRIPTC_PAIR_H
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scriptc_api.h"

enum { PAIR_NOTHING, PAIR_TENSOR, PAIR_INT, PAIR_DOUBLE, PAIR_BOOL, PAIR_LIST, PAIR_STRING };

static const struct { DLDataType type; const char *name; double rtol, atol; } pair_dtypes[] = { /* tolerances of torch.testing */
    {{kDLBool, 8, 1}, "bool", 0, 0},       {{kDLUInt, 8, 1}, "u8", 0, 0},          {{kDLInt, 8, 1}, "i8", 0, 0},
    {{kDLInt, 16, 1}, "i16", 0, 0},        {{kDLInt, 32, 1}, "i32", 0, 0},         {{kDLInt, 64, 1}, "i64", 0, 0},
    {{kDLFloat, 16, 1}, "f16", 1e-3, 1e-5}, {{kDLBfloat, 16, 1}, "bf16", 1.6e-2, 1e-5},
    {{kDLFloat, 32, 1}, "f32", 1.3e-6, 1e-5}, {{kDLFloat, 64, 1}, "f64", 1e-7, 1e-7},
    {{kDLComplex, 64, 1}, "c64", 1.3e-6, 1e-5}, {{kDLComplex, 128, 1}, "c128", 1e-7, 1e-7},
};

typedef struct pair_value {
    int64_t tag, n, i; /* n: length of a list */
    double f;
    bool b;
    scriptc_string s;
    struct pair_value *items;
    DLTensor storage;       /* a tensor */
    const DLTensor *tensor; /* to pass: points at storage, or is NULL in error cases */
    const int64_t *strides; /* the strides of eager's result */
    int dtype;
    const DLTensor **tensors; /* to pass a list */
    int64_t *integers;
    double *doubles;
    bool *bools;
    scriptc_string *strings;
    int64_t *lengths; /* of the rows of a list of lists, whose arrays above hold the items of all rows */
} pair_value;

typedef struct pair {
    char *file;
    int64_t entry, n_arguments, n_results;
    pair_value *values; /* arguments, expected, references */
} pair;

typedef struct comparison {
    double worst_abs, worst_rel;
    int failures;
} comparison;

static void pair_die(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(2);
}

static void *pair_alloc(size_t n, size_t size)
{
    void *p = calloc(n + 1, size);
    if (!p) pair_die("out of memory");
    return p;
}

static char *pair_slurp(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "rb");
    long n = -1;
    if (f && !fseek(f, 0, SEEK_END)) n = ftell(f);
    if (n < 0 || fseek(f, 0, SEEK_SET)) pair_die("cannot read a file");
    char *text = pair_alloc((size_t)n, 1);
    if (fread(text, 1, (size_t)n, f) != (size_t)n) pair_die("cannot read a file");
    fclose(f);
    *bytes = (size_t)n;
    return text;
}

static int64_t pair_numel(const DLTensor *t)
{
    int64_t n = 1;
    for (int d = 0; d < t->ndim; d++) n *= t->shape[d];
    return n;
}

static int64_t *pair_word(char **at)
{
    int64_t *word = (int64_t *)(void *)*at;
    *at += 8;
    return word;
}

static void pair_read_tensor(pair_value *v, char **at)
{
    v->dtype = (int)*pair_word(at);
    int64_t rank = *pair_word(at);
    v->storage = (DLTensor){.device = {.device_type = kDLCPU}, .ndim = (int32_t)rank, .dtype = pair_dtypes[v->dtype].type};
    v->storage.shape = (int64_t *)(void *)*at;
    v->strides = v->storage.shape + rank;
    *at += 16 * rank;
    v->storage.data = *at;
    v->tensor = &v->storage;
    *at += (pair_numel(&v->storage) * v->storage.dtype.bits / 8 + 7) / 8 * 8;
}

static void pair_read_value(pair_value *v, char **at);

static void pair_read_list(pair_value *v, char **at)
{
    v->n = *pair_word(at);
    size_t n = (size_t)v->n, total = n;
    v->items = pair_alloc(n, sizeof *v->items);
    v->lengths = pair_alloc(n, sizeof *v->lengths);
    for (size_t k = 0; k < n; k++) {
        pair_read_value(&v->items[k], at);
        v->lengths[k] = v->items[k].n;
        if (v->items[k].tag == PAIR_LIST) total += (size_t)v->items[k].n;
    }
    v->tensors = pair_alloc(total, sizeof *v->tensors);
    v->integers = pair_alloc(total, sizeof *v->integers);
    v->doubles = pair_alloc(total, sizeof *v->doubles);
    v->bools = pair_alloc(total, sizeof *v->bools);
    v->strings = pair_alloc(total, sizeof *v->strings);
    size_t to = 0;
    for (size_t k = 0; k < n; k++) {
        const pair_value *item = &v->items[k];
        int64_t many = item->tag == PAIR_LIST ? item->n : 1;
        for (int64_t i = 0; i < many; i++, to++) {
            const pair_value *leaf = item->tag == PAIR_LIST ? &item->items[i] : item;
            v->tensors[to] = leaf->tensor;
            v->integers[to] = leaf->i;
            v->doubles[to] = leaf->f;
            v->bools[to] = leaf->b;
            v->strings[to] = leaf->s;
        }
    }
}

static void pair_read_string(pair_value *v, char **at)
{
    v->s.n = *pair_word(at);
    v->s.data = *at;
    *at += (v->s.n + 7) / 8 * 8;
}

static void pair_read_value(pair_value *v, char **at)
{
    v->tag = *pair_word(at);
    if (v->tag == PAIR_TENSOR) pair_read_tensor(v, at);
    else if (v->tag == PAIR_LIST) pair_read_list(v, at);
    else if (v->tag == PAIR_STRING) pair_read_string(v, at);
    else if (v->tag == PAIR_DOUBLE) memcpy(&v->f, pair_word(at), 8);
    else if (v->tag != PAIR_NOTHING) v->b = (v->i = *pair_word(at)) != 0;
}

/* Read a file. Its structure is trusted, since it was made together with this driver. */
static pair pair_read(const char *path)
{
    size_t bytes;
    pair p = {.file = pair_slurp(path, &bytes)};
    if (bytes < 32 || memcmp(p.file, "SCPAIR01", 8)) pair_die("not a recorded pair");
    char *at = p.file + 8;
    p.entry = *pair_word(&at);
    p.n_arguments = *pair_word(&at);
    p.n_results = *pair_word(&at);
    int64_t n = p.n_arguments + 2 * p.n_results;
    p.values = pair_alloc((size_t)n, sizeof *p.values);
    for (int64_t i = 0; i < n; i++) pair_read_value(&p.values[i], &at);
    return p;
}

static void pair_free_value(pair_value *v)
{
    for (int64_t i = 0; v->items && i < v->n; i++) pair_free_value(&v->items[i]);
    free(v->items);
    free(v->tensors);
    free(v->integers);
    free(v->doubles);
    free(v->bools);
    free(v->strings);
    free(v->lengths);
}

static void pair_free(pair *p)
{
    for (int64_t i = 0; i < p->n_arguments + 2 * p->n_results; i++) pair_free_value(&p->values[i]);
    free(p->values);
    free(p->file);
}

static void pair_print_value(const pair_value *v)
{
    if (v->tag == PAIR_INT) printf("%lld", (long long)v->i);
    else if (v->tag == PAIR_DOUBLE) printf("%g", v->f);
    else if (v->tag == PAIR_BOOL) printf("%s", v->b ? "True" : "False");
    else if (v->tag == PAIR_STRING) printf("str of %lld bytes", (long long)v->s.n);
    else if (v->tag == PAIR_TENSOR) {
        printf("%s[", pair_dtypes[v->dtype].name);
        for (int d = 0; d < v->storage.ndim; d++) printf("%s%lld", d ? ", " : "", (long long)v->storage.shape[d]);
        printf("]");
    } else if (v->tag == PAIR_LIST) {
        printf("%lld x ", (long long)v->n);
        if (v->n) pair_print_value(&v->items[0]);
    }
}

/* ---- comparison ---- */

static double pair_half(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double x = exponent == 31 ? (fraction ? NAN : INFINITY)
               : exponent     ? ldexp(1024 + fraction, exponent - 25)
                              : ldexp(fraction, -24);
    return bits >> 15 ? -x : x;
}

/* Return the imaginary part of an element. */
static double pair_imaginary(const DLTensor *t, int dtype, int64_t at)
{
    const char *p = (const char *)t->data + t->byte_offset + at * (t->dtype.bits / 8);
    return dtype == 10 ? ((const float *)(const void *)p)[1] : dtype == 11 ? ((const double *)(const void *)p)[1] : 0;
}

static double pair_element(const DLTensor *t, int dtype, int64_t at)
{
    const char *p = (const char *)t->data + t->byte_offset + at * (t->dtype.bits / 8);
    uint16_t half;
    uint32_t word;
    float f;
    switch (dtype) {
    case 0: return *(const bool *)p;
    case 1: return *(const uint8_t *)p;
    case 2: return *(const int8_t *)p;
    case 3: return *(const int16_t *)(const void *)p;
    case 4: return *(const int32_t *)(const void *)p;
    case 5: return (double)*(const int64_t *)(const void *)p;
    case 6: memcpy(&half, p, 2); return pair_half(half);
    case 7:
        memcpy(&half, p, 2);
        word = (uint32_t)half << 16;
        memcpy(&f, &word, 4);
        return f;
    case 8: case 10: return *(const float *)(const void *)p;
    default: return *(const double *)(const void *)p;
    }
}

/* Return the offset of element i, which is counted in row-major order. */
static int64_t pair_place(const DLTensor *t, const int64_t *strides, int64_t i)
{
    int64_t at = 0;
    for (int d = t->ndim; d-- > 0; i /= t->shape[d]) at += i % t->shape[d] * strides[d];
    return at;
}

static void compare_fail(comparison *c, const char *name, const char *what)
{
    if (c->failures++ == 0) printf("FAILED: %s: %s; ", name, what);
}

static inline void compare_length(comparison *c, const char *name, int64_t got, int64_t expected)
{
    if (got != expected) compare_fail(c, name, "another length");
}

static double pair_distance(double a, double b)
{
    return a == b || (isnan(a) && isnan(b)) ? 0 : isnan(a) || isnan(b) ? INFINITY : fabs(a - b);
}

static bool pair_exact(const DLTensor *got, const pair_value *expected, int64_t at, int64_t i)
{
    size_t bytes = (size_t)got->dtype.bits / 8;
    const char *a = (const char *)got->data + got->byte_offset + (size_t)at * bytes;
    return !memcmp(a, (const char *)expected->storage.data + (size_t)i * bytes, bytes);
}

static inline void compare_tensor(comparison *c, const char *name, const DLTensor *got, const pair_value *expected, const pair_value *reference)
{
    const DLTensor *want = &expected->storage;
    if (got->dtype.code != want->dtype.code || got->dtype.bits != want->dtype.bits) {
        compare_fail(c, name, "another dtype");
        return;
    }
    if (got->ndim != want->ndim || memcmp(got->shape, want->shape, (size_t)want->ndim * sizeof *want->shape)) {
        compare_fail(c, name, "another shape");
        return;
    }
    int64_t n = pair_numel(want);
    for (int d = 0; d < want->ndim && n > 0; d++)
        if (want->shape[d] > 1 && got->strides[d] != expected->strides[d]) compare_fail(c, name, "other strides");
    double eager_error = 0; /* eager's error against float64; twice as much is accepted as equal */
    for (int64_t i = 0; reference->tag == PAIR_TENSOR && i < n; i++)
        eager_error = fmax(eager_error, pair_distance(pair_element(want, expected->dtype, i), pair_element(&reference->storage, 9, i)));
    bool floating = expected->dtype >= 6;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = pair_place(got, got->strides, i);
        double x = pair_element(got, expected->dtype, at), y = pair_element(want, expected->dtype, i);
        double imaginary = pair_imaginary(want, expected->dtype, i);
        double off = pair_distance(pair_imaginary(got, expected->dtype, at), imaginary);
        off = off == 0 ? pair_distance(x, y) : hypot(off, pair_distance(x, y));
        y = imaginary == 0 ? y : hypot(y, imaginary);
        bool ok = floating ? off <= pair_dtypes[expected->dtype].atol + pair_dtypes[expected->dtype].rtol * fabs(y)
                           : pair_exact(got, expected, at, i);
        if (!ok && reference->tag == PAIR_TENSOR) ok = pair_distance(x, pair_element(&reference->storage, 9, i)) <= 2 * eager_error;
        if (!ok || (isinf(off) && !isinf(y))) compare_fail(c, name, "values differ");
        c->worst_abs = fmax(c->worst_abs, off);
        if (off > 0 && y != 0) c->worst_rel = fmax(c->worst_rel, off / fabs(y));
    }
}

static inline void compare_string(comparison *c, const char *name, scriptc_string got, scriptc_string expected)
{
    if (got.n != expected.n || (got.n && memcmp(got.data, expected.data, (size_t)got.n))) compare_fail(c, name, "another string");
}

static inline void compare_number(comparison *c, const char *name, double got, double expected)
{
    double off = pair_distance(got, expected);
    if (!(off <= 1e-7 + 1e-7 * fabs(expected))) compare_fail(c, name, "another number");
    c->worst_abs = fmax(c->worst_abs, off);
}
#endif

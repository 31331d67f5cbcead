/* sc_pad.c - padding with elements of the tensor itself. Each row of the result is written once: a copy of a row, and its edges
 * element by element from indices that are the same for all rows. */
#include "../include/sc_vector.h"
#include "sc_internal.h"

/* the dims from the first padded one to the last one; all dims before them are fused into one */
typedef struct pad_shape {
    int dims, mode;
    int64_t n[SC_MAX_RANK], out[SC_MAX_RANK], left[SC_MAX_RANK];
    int64_t from_pitch[SC_MAX_RANK], to_pitch[SC_MAX_RANK]; /* in elements */
    int64_t begin, end;                                     /* the copied part of a row of the result */
    const int64_t *index;                                   /* index in x's row of each element of the last dim */
} pad_shape;

/* Return the index of the element that is copied to i, where 0 is the first of the n elements. */
static int64_t pad_source(int mode, int64_t i, int64_t n) {
    switch (mode) {
    case SC_PAD_REFLECT: return i < 0 ? -i : i < n ? i : 2 * (n - 1) - i;
    case SC_PAD_REPLICATE: return i < 0 ? 0 : i < n ? i : n - 1;
    default: return i < 0 ? i + n : i < n ? i : i - n;
    }
}

typedef struct pad_pair { uint64_t half[2]; } pad_pair; /* an element of 16 bytes */

/* Define functions that pad `rows` rows, pitches apart. */
#define T uint8_t
#define N(name) name##_1
#include "sc_pad_rows.inc"
#define T uint16_t
#define N(name) name##_2
#include "sc_pad_rows.inc"
#define T uint32_t
#define N(name) name##_4
#include "sc_pad_rows.inc"
#define T uint64_t
#define N(name) name##_8
#include "sc_pad_rows.inc"
#define T pad_pair
#define N(name) name##_16
#include "sc_pad_rows.inc"

static void pad_rows(const pad_shape *s, size_t item, void *to, int64_t to_pitch, const void *from, int64_t from_pitch, int64_t rows) {
    if (item == 1) pad_rows_1(s, to, to_pitch, from, from_pitch, rows);
    else if (item == 2) pad_rows_2(s, to, to_pitch, from, from_pitch, rows);
    else if (item == 4) pad_rows_4(s, to, to_pitch, from, from_pitch, rows);
    else if (item == 8) pad_rows_8(s, to, to_pitch, from, from_pitch, rows);
    else pad_rows_16(s, to, to_pitch, from, from_pitch, rows);
}

/* Pad the dims from d on. */
static void pad_dims(const pad_shape *s, int d, size_t item, char *to, const char *from) {
    if (d == s->dims - 1) {
        pad_rows(s, item, to, 0, from, 0, 1);
        return;
    }
    int64_t to_pitch = s->to_pitch[d], from_pitch = s->from_pitch[d], rows = 1;
    for (int64_t i = 0; i < s->out[d]; i += rows) {
        int64_t at = i - s->left[d], index = pad_source(s->mode, at, s->n[d]);
        char *row = to + (size_t)(i * to_pitch) * item;
        const char *source = from + (size_t)(index * from_pitch) * item;
        bool many = d == s->dims - 2 && index == at;
        rows = many ? (s->n[d] < s->out[d] - i + index ? s->n[d] : s->out[d] - i + index) - index : 1;
        if (many) pad_rows(s, item, row, to_pitch, source, from_pitch, rows);
        else pad_dims(s, d + 1, item, row, source);
    }
}

static int check_pad(sc_ctx *cx, int mode, int64_t n, int64_t left, int64_t right) {
    int64_t cut = (left < 0 ? left : 0) + (right < 0 ? right : 0), most = mode == SC_PAD_REFLECT ? n - 1 : n + cut;
    if (mode != SC_PAD_REPLICATE && (left > most || right > most))
        return mode == SC_PAD_REFLECT
                   ? sc_raise(cx, "RuntimeError", "Padding size should be less than the corresponding input dimension, but got: padding "
                              "(%lld, %lld) at a dimension of size %lld", (long long)left, (long long)right, (long long)n)
                   : sc_raise(cx, "RuntimeError", "Padding value causes wrapping around more than once.");
    if (n + left + right < (mode == SC_PAD_CIRCULAR ? 0 : 1) || n == 0)
        return sc_raise(cx, "RuntimeError", "input of size %lld, padded by %lld and %lld, is too small", (long long)n,
                        (long long)left, (long long)right);
    return 0;
}

SC_KERNEL sc_tensor *sc_pad(sc_ctx *cx, const sc_tensor *x, const int64_t *pad, int n, int64_t mode) {
    int64_t size[SC_MAX_RANK], skipped = 0;
    pad_shape s = {.dims = n / 2, .mode = (int)mode};
    memcpy(size, x->size, sizeof size);
    if (mode != SC_PAD_CIRCULAR && x->rank > n / 2 && x->size[x->rank - 1 - n / 2] == 0) {
        sc_raise(cx, "RuntimeError", "Expected a tensor with possibly 0 batch size and other non-zero dimensions for input, but got: %s",
                 sc_shape_text(x).s);
        return NULL;
    }
    for (int i = 0; i < n / 2; i++) { /* from the last dim to the first */
        int d = x->rank - 1 - i, k = n / 2 - 1 - i;
        if (check_pad(cx, s.mode, x->size[d], pad[2 * i], pad[2 * i + 1])) return NULL;
        s.n[k] = x->size[d], s.left[k] = pad[2 * i];
        s.out[k] = size[d] = x->size[d] + pad[2 * i] + pad[2 * i + 1];
        s.from_pitch[k] = i ? s.from_pitch[k + 1] * x->size[d + 1] : 1;
        if (s.mode == SC_PAD_CIRCULAR) { /* negative padding cuts first; what it cuts off is not repeated */
            int64_t cut = s.left[k] < 0 ? -s.left[k] : 0;
            s.n[k] -= cut - (pad[2 * i + 1] < 0 ? pad[2 * i + 1] : 0);
            s.left[k] += cut;
            skipped += cut * s.from_pitch[k];
        }
        s.to_pitch[k] = i ? s.to_pitch[k + 1] * s.out[k + 1] : 1;
    }
    int last = s.dims - 1;
    const int64_t count[1] = {s.out[last]};
    sc_tensor *in = sc_contiguous(cx, (sc_tensor *)x), *out = in ? sc_empty(cx, x->dtype, x->rank, size) : NULL;
    sc_tensor *indices = out ? sc_empty(cx, SC_I64, 1, count) : NULL;
    if (indices && out->numel) {
        int64_t *index = indices->data, each = x->size[x->rank - s.dims] * s.from_pitch[0], all = s.out[0] * s.to_pitch[0];
        for (int64_t i = 0; i < s.out[last]; i++) index[i] = pad_source(s.mode, i - s.left[last], s.n[last]);
        s.index = index;
        s.begin = s.left[last] > 0 ? s.left[last] : 0;
        s.end = s.n[last] + s.left[last] < s.out[last] ? s.n[last] + s.left[last] : s.out[last];
        if (s.end <= s.begin) s.begin = s.end = 0;
        size_t item = sc_dtype_size(x->dtype);
        for (int64_t i = 0; i < out->numel / all; i++)
            pad_dims(&s, 0, item, (char *)out->data + (size_t)(i * all) * item,
                     (const char *)in->data + (size_t)(i * each + skipped) * item);
    }
    if (!indices) {
        sc_release(cx, out);
        out = NULL;
    }
    sc_release(cx, indices);
    sc_release(cx, in);
    return out;
}

/* sc_norm.c - softmax, layer norm and group norm: each row is read while it is in cache. float and double have loops, halves go
 * through float and round once. */
#include <math.h>

#include "../include/sc_math.h"
#include "../include/sc_team.h"
#include "../include/sc_vector.h"
#include "sc_image.h"

enum { NORM_BLOCK = 1024, NORM_COLUMNS = 128, NORM_ROWS = 32, NORM_TOGETHER = 4096 /* elements of a group of rows */,
       NORM_GRAIN = 4096 /* the least number of elements, in whole rows, of a thread's part */ };

typedef enum softmax_kind { SOFTMAX_PLAIN, SOFTMAX_SAFE /* zeros for slices of -inf */, SOFTMAX_LOG } softmax_kind;

/* Share `rows` rows of n elements between threads. ns: about the time of an element. */
static void norm_share(sc_ctx *cx, int64_t rows, int64_t n, double ns, sc_work *work, void *arg) {
    sc_parallel(cx, rows, n < NORM_GRAIN ? NORM_GRAIN / n : 1, ns * (double)rows * (double)n, work, arg);
}

#define T float
#define N(name) norm_##name##_f32
#define F(name) name##_f32
#include "sc_norm_tile.inc"
#define T double
#define N(name) norm_##name##_f64
#define F(name) name##_f64
#include "sc_norm_tile.inc"

static int norm_dtype(int dtype) {
    return dtype == SC_F64 ? SC_F64 : SC_F32;
}

/* ---- softmax ---- */

typedef struct softmax_shape { int64_t n, inner; softmax_kind kind; } softmax_shape; /* along n elements, `inner` apart */

/* Compute the slices first..last-1. */
static void softmax_slices(const softmax_shape *s, const sc_tensor *x, sc_tensor *out, int64_t first, int64_t last) {
    size_t item = sc_dtype_size(x->dtype);
    int64_t rows = NORM_TOGETHER / s->n < 1 ? 1 : NORM_TOGETHER / s->n > NORM_ROWS ? NORM_ROWS : NORM_TOGETHER / s->n;
    for (int64_t i = first; s->inner == 1 && i < last; i += rows) {
        const void *from = (const char *)x->data + (size_t)(i * s->n) * item;
        void *to = (char *)out->data + (size_t)(i * s->n) * item;
        if (rows > last - i) rows = last - i;
        x->dtype == SC_F32 ? norm_softmax_rows_f32(from, rows, s->n, s->kind, to) : norm_softmax_rows_f64(from, rows, s->n, s->kind, to);
    }
    for (int64_t i = first; s->inner > 1 && i < last; i++)
        for (int64_t c = 0; c < s->inner; c += NORM_COLUMNS) {
            int64_t width = s->inner - c < NORM_COLUMNS ? s->inner - c : NORM_COLUMNS;
            size_t at = (size_t)(i * s->n * s->inner + c) * item;
            const void *from = (const char *)x->data + at;
            void *to = (char *)out->data + at;
            x->dtype == SC_F32 ? norm_softmax_columns_f32(from, s->n, s->inner, width, s->kind, to)
                               : norm_softmax_columns_f64(from, s->n, s->inner, width, s->kind, to);
        }
}

typedef struct softmax_job { softmax_shape shape; const sc_tensor *x; sc_tensor *out; } softmax_job;

static void softmax_part(void *arg, int64_t begin, int64_t end, int worker) {
    const softmax_job *job = arg;
    (void)worker;
    softmax_slices(&job->shape, job->x, job->out, begin, end);
}

static sc_tensor *softmax(sc_ctx *cx, const sc_tensor *x, int64_t dim, int dtype, softmax_kind kind) {
    int d = sc_wrap_dim(cx, dim, x->rank);
    if (d < 0) return NULL;
    if (!sc_is_float(dtype)) {
        sc_raise(cx, "NotImplementedError", "\"%s%s_impl\" not implemented for '%s'", kind == SOFTMAX_LOG ? "log_softmax" : "softmax",
                 d + 1 >= x->rank ? "_lastdim_kernel" : "_kernel", sc_scalar_type_name(dtype));
        return NULL;
    }
    sc_tensor *first = sc_to_dtype(cx, (sc_tensor *)x, dtype); /* as in eager, which rounds here */
    sc_tensor *in = first ? image_prepared(cx, first, norm_dtype(dtype)) : NULL, *out = NULL;
    sc_tensor *wide = in ? sc_empty(cx, in->dtype, x->rank, x->size) : NULL;
    if (wide && wide->numel) {
        softmax_shape s = {x->rank ? x->size[d] : 1, 1, kind};
        for (int k = d + 1; k < x->rank; k++) s.inner *= x->size[k];
        softmax_job job = {s, in, wide};
        norm_share(cx, x->numel / (s.n * s.inner), s.n * s.inner, 0.5, softmax_part, &job);
    }
    if (wide) out = sc_to_dtype(cx, wide, dtype);
    sc_release(cx, first);
    sc_release(cx, in);
    sc_release(cx, wide);
    return out;
}

SC_KERNEL sc_tensor *sc_softmax(sc_ctx *cx, const sc_tensor *x, int64_t dim, int dtype) {
    return softmax(cx, x, dim, dtype, SOFTMAX_PLAIN);
}

SC_KERNEL sc_tensor *sc_safe_softmax(sc_ctx *cx, const sc_tensor *x, int64_t dim, int dtype) {
    return softmax(cx, x, dim, dtype, SOFTMAX_SAFE);
}

SC_KERNEL sc_tensor *sc_log_softmax(sc_ctx *cx, const sc_tensor *x, int64_t dim, int dtype) {
    return softmax(cx, x, dim, dtype, SOFTMAX_LOG);
}

/* ---- layer norm and group norm ---- */

/* contiguous rows of n elements; a weight and bias for each element, or for each of `channels` channels */
typedef struct norm_rows {
    const sc_tensor *x, *weight, *bias;
    int64_t n, groups, channels; /* groups: 0 for layer norm; each group is a row */
    double eps;
} norm_rows;

static const void *norm_at(const sc_tensor *t, int64_t i) {
    return t ? (const char *)t->data + (size_t)i * sc_dtype_size(t->dtype) : NULL;
}

static void normalize_rows(const norm_rows *r, sc_tensor *out, int64_t first, int64_t last) {
    for (int64_t i = first; i < last; i++) {
        const void *x = norm_at(r->x, i * r->n);
        void *to = (char *)out->data + (size_t)(i * r->n) * sc_dtype_size(out->dtype);
        int64_t channel = r->groups ? i % r->groups * r->channels : 0;
        const void *w = norm_at(r->weight, channel), *b = norm_at(r->bias, channel);
        if (out->dtype == SC_F32)
            r->groups ? norm_normalize_group_f32(x, r->channels, r->n / r->channels, r->eps, w, b, to)
                      : norm_normalize_row_f32(x, r->n, r->eps, w, b, to);
        else
            r->groups ? norm_normalize_group_f64(x, r->channels, r->n / r->channels, r->eps, w, b, to)
                      : norm_normalize_row_f64(x, r->n, r->eps, w, b, to);
    }
}

typedef struct norm_job { const norm_rows *rows; sc_tensor *out; } norm_job;

static void norm_part(void *arg, int64_t begin, int64_t end, int worker) {
    const norm_job *job = arg;
    (void)worker;
    normalize_rows(job->rows, job->out, begin, end);
}

static int norm_not_implemented(sc_ctx *cx, const sc_tensor *x, const char *kernel) {
    return sc_raise(cx, "NotImplementedError", "\"%s\" not implemented for '%s'", kernel, sc_scalar_type_name(x->dtype));
}

/* Check that eager's kernel takes the dtype of x, and that both parameters have that dtype, or float if x has a half type. */
static int check_norm_dtypes(sc_ctx *cx, const sc_tensor *x, const sc_tensor *weight, const sc_tensor *bias,
                             const char *kernel) {
    const sc_tensor *first = weight ? weight : bias, *other = weight ? bias : NULL;
    bool mixed = first && first->dtype != x->dtype;
    if (mixed && (first->dtype != SC_F32 || (other && other->dtype != SC_F32)))
        return sc_raise(cx, "RuntimeError", "mixed dtype (CPU): expect parameter to have scalar type of Float");
    if (mixed && x->dtype != SC_F16 && x->dtype != SC_BF16)
        return sc_raise(cx, "RuntimeError", "mixed dtype (CPU): all inputs must share same datatype.");
    if (!sc_is_float(x->dtype)) return norm_not_implemented(cx, x, kernel);
    if (!other || other->dtype == first->dtype) return 0;
    return sc_raise(cx, "RuntimeError", "expected scalar type %s but found %s", sc_scalar_type_name(x->dtype),
                    sc_scalar_type_name(other->dtype));
}

/* Normalize x by the sizes and eps of r. The result is contiguous. kernel: the name of eager's, in messages. */
static sc_tensor *normalize(sc_ctx *cx, norm_rows *r, const sc_tensor *x, const sc_tensor *weight, const sc_tensor *bias,
                            const char *kernel) {
    if (check_norm_dtypes(cx, x, weight, bias, kernel)) return NULL;
    int dtype = norm_dtype(x->dtype);
    sc_tensor *in = image_prepared(cx, x, dtype), *w = in && weight ? image_prepared(cx, weight, dtype) : NULL;
    sc_tensor *b = in && bias ? image_prepared(cx, bias, dtype) : NULL, *out = NULL;
    bool ready = in && (w || !weight) && (b || !bias);
    sc_tensor *wide = ready ? sc_empty(cx, dtype, x->rank, x->size) : NULL;
    if (wide) {
        r->x = in, r->weight = w, r->bias = b;
        norm_job job = {r, wide};
        if (wide->numel) norm_share(cx, wide->numel / r->n, r->n, 0.25, norm_part, &job);
        out = sc_to_dtype(cx, wide, x->dtype);
    }
    sc_release(cx, in);
    sc_release(cx, w);
    sc_release(cx, b);
    sc_release(cx, wide);
    return out;
}

static int check_same_shape(sc_ctx *cx, const char *what, const sc_tensor *t, const int64_t *size, int n) {
    if (!t || (t->rank == n && sc_same_sizes(t->size, size, n))) return 0;
    return sc_raise(cx, "RuntimeError",
                    "Expected %s to be of same shape as normalized_shape, but got %s of shape %s and normalized_shape = %s", what,
                    what, sc_shape_text(t).s, sc_sizes_text(size, n).s);
}

/* Return the number of elements of the last n dims of x; -1 unless these are their sizes. */
static int64_t normalized_elements(sc_ctx *cx, const sc_tensor *x, const int64_t *size, int n) {
    int64_t elements = 1;
    for (int d = 0; d < n; d++) elements = sc_wrapped_product(elements, size[d]);
    if (x->rank >= n && sc_same_sizes(x->size + x->rank - n, size, n)) return elements;
    sc_text text = sc_sizes_text(size, n);
    return sc_raise(cx, "RuntimeError", "Given normalized_shape=%s, expected input with shape [*, %s, but got input of size%s", text.s,
                    text.s + 1, sc_shape_text(x).s);
}

SC_KERNEL sc_tensor *sc_layer_norm(sc_ctx *cx, const sc_tensor *x, const int64_t *size, int n, const sc_tensor *weight,
                                   const sc_tensor *bias, double eps) {
    norm_rows r = {.eps = eps};
    if (n < 1) {
        sc_raise(cx, "RuntimeError", "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, "
                 "but got normalized_shape = []");
        return NULL;
    }
    if (check_same_shape(cx, "weight", weight, size, n) || check_same_shape(cx, "bias", bias, size, n)) return NULL;
    if ((r.n = normalized_elements(cx, x, size, n)) < 0) return NULL;
    return normalize(cx, &r, x, weight, bias, "LayerNormKernelImpl");
}

/* ---- gradients of layer norm ---- */

enum { NORM_PART_ROWS = 16, NORM_PARTS = 32 }; /* a part of the sums over rows has at least so many; at most so many parts */

typedef struct norm_gradient_job {
    const sc_tensor *grad, *x, *weight; /* weight: may be NULL */
    sc_tensor *of_input, *sums;         /* sums: [parts, n] of the gradient of the weight, or NULL */
    int64_t n, rows, rows_of_part;
    double eps;
} norm_gradient_job;

static void norm_gradient_part(void *arg, int64_t begin, int64_t end, int worker) {
    const norm_gradient_job *job = arg;
    (void)worker;
    for (int64_t part = begin; part < end; part++) {
        int64_t first = part * job->rows_of_part, rows = job->rows - first, n = job->n;
        if (rows > job->rows_of_part) rows = job->rows_of_part;
        const void *grad = norm_at(job->grad, first * n), *x = norm_at(job->x, first * n), *w = norm_at(job->weight, 0);
        void *to = (char *)job->of_input->data + (size_t)(first * n) * sc_dtype_size(job->of_input->dtype);
        void *sums = (void *)norm_at(job->sums, part * n);
        job->x->dtype == SC_F32 ? norm_row_gradients_f32(grad, x, rows, n, job->eps, w, to, sums)
                                : norm_row_gradients_f64(grad, x, rows, n, job->eps, w, to, sums);
    }
}

static sc_tensor *norm_zeros(sc_ctx *cx, int dtype, const int64_t *size, int rank) {
    sc_tensor *t = sc_empty(cx, dtype, rank, size);
    if (t && t->numel) memset(t->data, 0, (size_t)t->numel * sc_dtype_size(dtype));
    return t;
}

/* Write the gradient of the contiguous job->x to job->of_input, and, unless of_weight is NULL, add that of the weight to it. How
 * rows are divided does not depend on the number of threads. */
static int norm_gradients(sc_ctx *cx, norm_gradient_job *job, sc_tensor *of_weight) {
    job->rows = job->n ? job->x->numel / job->n : 0;
    job->rows_of_part = (job->rows + NORM_PARTS - 1) / NORM_PARTS;
    if (job->rows_of_part < NORM_PART_ROWS) job->rows_of_part = NORM_PART_ROWS;
    int64_t parts = (job->rows + job->rows_of_part - 1) / job->rows_of_part;
    if (!parts) return 0;
    if (of_weight && !(job->sums = norm_zeros(cx, of_weight->dtype, (const int64_t[]){parts, job->n}, 2))) return -1;
    norm_share(cx, parts, job->rows_of_part * job->n, 0.5, norm_gradient_part, job);
    if (of_weight)
        of_weight->dtype == SC_F32 ? norm_add_rows_f32(job->sums->data, parts, job->n, of_weight->data)
                                   : norm_add_rows_f64(job->sums->data, parts, job->n, of_weight->data);
    sc_release(cx, job->sums);
    return 0;
}

/* of_weight: NULL if it is not needed */
static int layer_norm_backward(sc_ctx *cx, const sc_tensor *grad, const sc_tensor *x, const int64_t *size, int n,
                               const sc_tensor *weight, double eps, sc_tensor **of_input, sc_tensor **of_weight) {
    int64_t elements = normalized_elements(cx, x, size, n);
    if (elements < 0 || check_same_shape(cx, "weight", weight, size, n)) return -1;
    if (!sc_is_float(x->dtype)) return norm_not_implemented(cx, x, "LayerNormBackwardKernelImpl");
    if (!sc_same_shape(grad, x))
        return sc_raise(cx, "RuntimeError", "expected a gradient of shape %s, but got %s", sc_shape_text(x).s, sc_shape_text(grad).s);
    int dtype = norm_dtype(x->dtype);
    sc_tensor *y = image_prepared(cx, grad, dtype), *in = y ? image_prepared(cx, x, dtype) : NULL;
    sc_tensor *w = in && weight ? image_prepared(cx, weight, dtype) : NULL, *sum = NULL;
    sc_tensor *wide = in && (w || !weight) ? sc_empty(cx, dtype, x->rank, x->size) : NULL;
    bool ready = wide && (!of_weight || (sum = norm_zeros(cx, dtype, size, n)));
    norm_gradient_job job = {.grad = y, .x = in, .weight = w, .of_input = wide, .n = elements, .eps = eps};
    *of_input = ready && norm_gradients(cx, &job, sum) == 0 ? sc_to_dtype(cx, wide, x->dtype) : NULL;
    sc_release(cx, y);
    sc_release(cx, in);
    sc_release(cx, w);
    sc_release(cx, wide);
    if (of_weight) *of_weight = sum;
    return *of_input ? 0 : -1;
}

SC_KERNEL int sc_layer_norm_backward(sc_ctx *cx, const sc_tensor *grad, const sc_tensor *x, const int64_t *size, int n,
                                     const sc_tensor *weight, double eps, sc_tensor **of_input, sc_tensor **of_weight) {
    return layer_norm_backward(cx, grad, x, size, n, weight, eps, of_input, of_weight);
}

SC_KERNEL sc_tensor *sc_layer_norm_backward_input(sc_ctx *cx, const sc_tensor *grad, const sc_tensor *x, const int64_t *size, int n,
                                                  const sc_tensor *weight, double eps) {
    sc_tensor *of_input;
    return layer_norm_backward(cx, grad, x, size, n, weight, eps, &of_input, NULL) < 0 ? NULL : of_input;
}

/* ---- group norm ---- */

static int check_channels(sc_ctx *cx, const char *what, const sc_tensor *t, const sc_tensor *x) {
    if (!t || (t->rank == 1 && t->numel == x->size[1])) return 0;
    return sc_raise(cx, "RuntimeError",
                    "Expected %s to be a vector of size equal to the number of channels in input, but got %s of shape %s and input "
                    "of shape %s", what, what, sc_shape_text(t).s, sc_shape_text(x).s);
}

SC_KERNEL sc_tensor *sc_group_norm(sc_ctx *cx, const sc_tensor *x, int64_t groups, const sc_tensor *weight, const sc_tensor *bias,
                                   double eps) {
    if (sc_wrap_dim(cx, 1, x->rank) < 0) return NULL;
    int64_t channels = x->size[1], inner = 1;
    for (int d = 2; d < x->rank; d++) inner = sc_wrapped_product(inner, x->size[d]);
    if (groups <= 0) {
        sc_raise(cx, "RuntimeError", "Expected num groups to be greater than 0, got %lld", (long long)groups);
        return NULL;
    }
    if (channels % groups) {
        sc_raise(cx, "RuntimeError",
                 "Expected number of channels in input to be divisible by num_groups, but got input of shape %s and num_groups=%lld",
                 sc_shape_text(x).s, (long long)groups);
        return NULL;
    }
    if (check_channels(cx, "weight", weight, x) || check_channels(cx, "bias", bias, x)) return NULL;
    norm_rows r = {.n = channels / groups * inner, .groups = groups, .channels = channels / groups, .eps = eps};
    sc_tensor *out = normalize(cx, &r, x, weight, bias, "GroupNormKernelImpl");
    return image_channels_last(x) ? image_to_channels_last(cx, out) : out;
}

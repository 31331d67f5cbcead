/* sc_reduce.c - sums, products, extremes and their positions.
 *
 * The input is brought to one of four types (float, double, int64, bytes) and its dimensions are sorted into kept and
 * folded ones, fastest first. Either REDUCE_LANES elements of a contiguous row or REDUCE_LANES neighboring columns are accumulated
 * side by side. After REDUCE_BLOCK rows an accumulator is added to a second one, that to a third one after REDUCE_BLOCK
 * of those, and so on; a contiguous row is cut into short ones, whose results are folded in turn. The error of a sum grows with
 * the logarithm of its length, not with the length. */
#include <math.h>

#include "../include/sc_team.h"
#include "../include/sc_vector.h"
#include "sc_internal.h"

enum { REDUCE_LANES = 64, REDUCE_BLOCK = 64, REDUCE_LEVELS = 4,
       REDUCE_ROW = REDUCE_LANES * REDUCE_BLOCK /* elements of a short row */, REDUCE_PARTS = 256,
       REDUCE_GRAIN = 4096 /* the least number of elements of a thread's part */ };

typedef struct reduction { /* strides in elements of x and of the result */
    int kept, folded;
    int64_t kept_size[SC_MAX_RANK], kept_x[SC_MAX_RANK], kept_out[SC_MAX_RANK];
    int64_t folded_size[SC_MAX_RANK + 1], folded_x[SC_MAX_RANK + 1];
} reduction;

static bool is_by_columns(const reduction *r) {
    return r->kept > 0 && r->kept_x[0] == 1 && r->folded_x[0] != 1;
}

/* ---- walking over dimensions first..n-1 ---- */

typedef struct walk {
    int first, n;
    const int64_t *size;
    int64_t at[SC_MAX_RANK + 1];
} walk;

static inline walk walk_over(int n, const int64_t *size, int first) {
    walk w;
    w.first = first, w.n = n, w.size = size;
    for (int d = first; d < n; d++) w.at[d] = 0;
    return w;
}

static inline bool walk_next(walk *w) {
    for (int d = w->first; d < w->n; d++) {
        if (++w->at[d] < w->size[d]) return true;
        w->at[d] = 0;
    }
    return false;
}

static inline int64_t walk_offset(const walk *w, const int64_t *stride) {
    int64_t offset = 0;
    for (int d = w->first; d < w->n; d++) offset += w->at[d] * stride[d];
    return offset;
}

/* ---- kernels ---- */

typedef union reduce_level { /* one element for each lane */
    float f[REDUCE_LANES];
    double d[REDUCE_LANES];
    int64_t i[REDUCE_LANES];
    uint8_t b[REDUCE_LANES];
} reduce_level;

typedef struct reduce_kernel { /* for one operation on one element type; a level is a reduce_level */
    int64_t bytes;              /* of an element */
    void (*start)(void *level); /* neutral elements */
    void (*fold)(void *level, const void *x, int64_t rows, int64_t pitch, int lanes); /* rows, pitch elements apart */
    void (*merge)(void *level, const void *from);
    void (*across)(void *level); /* reduces all lanes to the first, by halves */
    /* Reduce rows of n elements, pitch apart, that need no levels, as most do; results are step apart. */
    void (*short_rows)(void *out, int64_t step, const void *x, int64_t pitch, int64_t rows, int64_t n);
    const struct reduce_kernel *parts; /* the kernel that folds results of this one */
} reduce_kernel;

#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
#define SQUARE(x) ((x) * (x))

#define NAME sum_f32
#define T float
#define I int32_t
#define INIT 0
#define OP ADD
#include "sc_reduce.inc"

#define NAME prod_f32
#define T float
#define I int32_t
#define INIT 1
#define OP MUL
#include "sc_reduce.inc"

#define NAME amax_f32
#define T float
#define I int32_t
#define INIT -INFINITY
#define BETTER >
#include "sc_reduce.inc"

#define NAME amin_f32
#define T float
#define I int32_t
#define INIT INFINITY
#define BETTER <
#include "sc_reduce.inc"

#define NAME sum_f64
#define T double
#define I int64_t
#define INIT 0
#define OP ADD
#include "sc_reduce.inc"

#define NAME prod_f64
#define T double
#define I int64_t
#define INIT 1
#define OP MUL
#include "sc_reduce.inc"

#define NAME amax_f64
#define T double
#define I int64_t
#define INIT -(double)INFINITY
#define BETTER >
#include "sc_reduce.inc"

#define NAME amin_f64
#define T double
#define I int64_t
#define INIT (double)INFINITY
#define BETTER <
#include "sc_reduce.inc"

#define NAME sum_squares_f32
#define T float
#define I int32_t
#define INIT 0
#define OP ADD
#define TERM SQUARE
#define PARTS sum_f32
#include "sc_reduce.inc"

#define NAME sum_squares_f64
#define T double
#define I int64_t
#define INIT 0
#define OP ADD
#define TERM SQUARE
#define PARTS sum_f64
#include "sc_reduce.inc"

/* Sums and products of integers wrap around. */
#define NAME sum_i64
#define T uint64_t
#define I int64_t
#define INIT 0
#define OP ADD
#include "sc_reduce.inc"

#define NAME prod_i64
#define T uint64_t
#define I int64_t
#define INIT 1
#define OP MUL
#include "sc_reduce.inc"

#define NAME amax_i64
#define T int64_t
#define I int64_t
#define INIT INT64_MIN
#define BETTER >
#include "sc_reduce.inc"

#define NAME amin_i64
#define T int64_t
#define I int64_t
#define INIT INT64_MAX
#define BETTER <
#include "sc_reduce.inc"

#define NAME amax_u8
#define T uint8_t
#define I int8_t
#define INIT 0
#define BETTER >
#include "sc_reduce.inc"

#define NAME amin_u8
#define T uint8_t
#define I int8_t
#define INIT UINT8_MAX
#define BETTER <
#include "sc_reduce.inc"

#undef ADD
#undef MUL
#undef SQUARE

static const reduce_kernel *kernel_for(int op, int dtype) {
    static const reduce_kernel *const of_f32[] = {&sum_f32, &prod_f32, &sum_f32, &amax_f32, &amin_f32};
    static const reduce_kernel *const of_f64[] = {&sum_f64, &prod_f64, &sum_f64, &amax_f64, &amin_f64};
    static const reduce_kernel *const of_i64[] = {&sum_i64, &prod_i64, &sum_i64, &amax_i64, &amin_i64};
    if (op == SC_SUM_SQUARES) return dtype == SC_F64 ? &sum_squares_f64 : &sum_squares_f32;
    if (dtype == SC_BOOL || dtype == SC_U8) return op == SC_AMAX || op == SC_ANY ? &amax_u8 : &amin_u8;
    return (dtype == SC_F32 ? of_f32 : dtype == SC_F64 ? of_f64 : of_i64)[op];
}

/* Return the dtype in which a kernel computes. */
static int kernel_dtype(int op, int dtype) {
    if (op >= SC_AMAX && op <= SC_ANY && (dtype == SC_BOOL || dtype == SC_U8)) return dtype;
    return !sc_is_float(dtype) ? SC_I64 : dtype == SC_F64 ? SC_F64 : SC_F32;
}

/* Convert the extremes of bools to 0 and 1, since external bools may be other bytes. */
static void make_bools(sc_tensor *t) {
    uint8_t *p = t->data;
    for (int64_t i = 0; i < t->numel; i++) p[i] = p[i] != 0;
}

/* ---- folding ---- */

typedef struct reduce_state {
    int64_t rows;
    reduce_level level[REDUCE_LEVELS]; /* level[l] is unset until REDUCE_BLOCK to the power of l rows are folded */
} reduce_state;

static void fold_rows(const reduce_kernel *k, reduce_state *s, const char *x, int64_t rows, int64_t pitch, int lanes) {
    while (rows > 0) {
        int64_t n = REDUCE_BLOCK - s->rows % REDUCE_BLOCK, full = REDUCE_BLOCK;
        if (n > rows) n = rows;
        k->fold(s->level, x, n, pitch, lanes);
        s->rows += n;
        for (reduce_level *l = s->level; l + 1 < s->level + REDUCE_LEVELS && s->rows % full == 0; l++, full *= REDUCE_BLOCK) {
            if (s->rows == full) l[1] = l[0]; /* a full level is added to the next one and restarts */
            else k->merge(l + 1, l);
            k->start(l);
        }
        x += n * pitch * k->bytes;
        rows -= n;
    }
}

/* Combine all levels in level[0]. */
static void collect(const reduce_kernel *k, reduce_state *s) {
    int64_t full = REDUCE_BLOCK;
    for (int l = 1; l < REDUCE_LEVELS && s->rows >= full; l++, full *= REDUCE_BLOCK) k->merge(s->level, s->level + l);
}

/* Fold a contiguous row of any length. */
static void fold_row(const reduce_kernel *k, void *to, const char *x, int64_t n) {
    uint64_t parts[REDUCE_PARTS];
    int64_t each = REDUCE_ROW, count = 0;
    if (n <= REDUCE_ROW) {
        k->short_rows(to, 0, x, 0, 1, n);
        return;
    }
    while (each * REDUCE_PARTS < n) each *= REDUCE_PARTS;
    for (int64_t at = 0; at < n; at += each, count++)
        fold_row(k, (char *)parts + count * k->bytes, x + at * k->bytes, n - at < each ? n - at : each);
    k->parts->short_rows(to, 0, parts, 0, 1, count);
}

static void reduce_elements(const reduce_kernel *k, const reduction *r, const char *x, char *out) {
    bool columns = is_by_columns(r), unit = r->folded_x[0] == 1;
    bool row = unit && r->folded == 1, short_rows = row && r->folded_size[0] <= REDUCE_ROW;
    int64_t width = columns ? r->kept_size[0] : 1, step = columns ? r->kept_out[0] * k->bytes : 0;
    reduce_state s;
    walk kept = walk_over(r->kept, r->kept_size, columns || short_rows);
    do {
        const char *from = x + walk_offset(&kept, r->kept_x) * k->bytes;
        char *to = out + walk_offset(&kept, r->kept_out) * k->bytes;
        if (short_rows) {
            k->short_rows(to, r->kept ? r->kept_out[0] : 0, from, r->kept ? r->kept_x[0] : 0, r->kept ? r->kept_size[0] : 1,
                          r->folded_size[0]);
            continue;
        }
        if (row) {
            fold_row(k, to, from, r->folded_size[0]);
            continue;
        }
        for (int64_t block = 0; block < width; block += REDUCE_LANES) {
            /* The last block of columns repeats some of the block before, if any, instead of being narrower. */
            int64_t j = width < REDUCE_LANES || block + REDUCE_LANES <= width ? block : width - REDUCE_LANES;
            int lanes = columns ? (int)(width < REDUCE_LANES ? width : REDUCE_LANES) : unit ? REDUCE_LANES : 1;
            s.rows = 0;
            k->start(s.level);
            walk folded = walk_over(r->folded, r->folded_size, 1);
            do {
                const char *row = from + (walk_offset(&folded, r->folded_x) + j) * k->bytes;
                int64_t n = r->folded_size[0], whole = n / REDUCE_LANES;
                if (columns || !unit) fold_rows(k, &s, row, n, r->folded_x[0], lanes);
                else {
                    fold_rows(k, &s, row, whole, REDUCE_LANES, REDUCE_LANES);
                    if (n % REDUCE_LANES)
                        fold_rows(k, &s, row + whole * REDUCE_LANES * k->bytes, 1, 0, (int)(n % REDUCE_LANES));
                }
            } while (walk_next(&folded));
            collect(k, &s);
            if (!columns && unit) k->across(s.level);
            int results = columns ? lanes : 1, at_once = step == k->bytes ? results : 1;
            for (int i = 0; i < results; i += at_once)
                memcpy(to + (j + i) * step, (const char *)&s.level[0] + i * k->bytes, (size_t)(at_once * k->bytes));
        }
    } while (walk_next(&kept));
}

typedef struct reduce_job { const reduce_kernel *kernel; const reduction *r; const char *x; char *out; } reduce_job;

/* Reduce to the elements begin..end - 1 of the last kept dimension. */
static void reduce_part(void *arg, int64_t begin, int64_t end, int worker) {
    const reduce_job *job = arg;
    reduction r = *job->r;
    int d = r.kept - 1;
    (void)worker;
    r.kept_size[d] = end - begin;
    reduce_elements(job->kernel, &r, job->x + begin * r.kept_x[d] * job->kernel->bytes,
                    job->out + begin * r.kept_out[d] * job->kernel->bytes);
}

/* Share results between threads. The sum of one result is not shared, since its order would change. */
static void reduce_shared(sc_ctx *cx, const reduce_kernel *k, const reduction *r, const sc_tensor *x, sc_tensor *out) {
    if (r->kept == 0) {
        reduce_elements(k, r, x->data, out->data);
        return;
    }
    reduce_job job = {k, r, x->data, out->data};
    int64_t last = r->kept_size[r->kept - 1], each = x->numel / last, grain = each && each < REDUCE_GRAIN ? REDUCE_GRAIN / each : 1;
    if (r->kept == 1 && is_by_columns(r)) grain = (grain + REDUCE_LANES - 1) / REDUCE_LANES * REDUCE_LANES;
    sc_parallel(cx, last, grain, (double)(x->numel * k->bytes) / SC_BYTES_PER_NS, reduce_part, &job);
}

/* ---- set-up ---- */

/* Insert a dimension in the order of strides, unless its size is 1. */
static int insert_dim(int n, int64_t *size, int64_t *x, int64_t *out, int64_t new_size, int64_t new_x, int64_t new_out) {
    if (new_size == 1) return n;
    int d = n;
    for (; d > 0 && x[d - 1] > new_x; d--) {
        size[d] = size[d - 1], x[d] = x[d - 1];
        if (out) out[d] = out[d - 1];
    }
    size[d] = new_size, x[d] = new_x;
    if (out) out[d] = new_out;
    return n + 1;
}

/* Fuse adjacent dimensions that step evenly. */
static int fuse_sorted(int n, int64_t *size, int64_t *x, int64_t *out) {
    int to = 0;
    for (int d = 1; d < n; d++) {
        if (x[d] == sc_wrapped_product(x[to], size[to]) && (!out || out[d] == sc_wrapped_product(out[to], size[to]))) {
            size[to] = sc_wrapped_product(size[to], size[d]);
            continue;
        }
        to++;
        size[to] = size[d], x[to] = x[d];
        if (out) out[to] = out[d];
    }
    return n ? to + 1 : 0;
}

static void plan_reduction(reduction *r, const sc_tensor *x, uint32_t mask) {
    int64_t next = 1;
    r->kept = r->folded = 0;
    for (int d = x->rank; d-- > 0;) {
        if (mask >> d & 1) {
            r->folded = insert_dim(r->folded, r->folded_size, r->folded_x, NULL, x->size[d], x->stride[d], 0);
        } else {
            r->kept = insert_dim(r->kept, r->kept_size, r->kept_x, r->kept_out, x->size[d], x->stride[d], next);
            next = sc_wrapped_product(next, x->size[d]);
        }
    }
    r->kept = fuse_sorted(r->kept, r->kept_size, r->kept_x, r->kept_out);
    r->folded = fuse_sorted(r->folded, r->folded_size, r->folded_x, NULL);
    if (r->folded == 0 || x->numel == 0) { /* nothing to fold: one element, or none */
        r->folded = 1;
        r->folded_size[0] = x->numel != 0;
        r->folded_x[0] = 0;
    }
}

/* Return the dims as a bit set, or -1 after raising. */
static int64_t dim_mask(sc_ctx *cx, const sc_tensor *x, const int64_t *dims, int n) {
    int64_t mask = n == 0 ? (1 << SC_MAX_RANK) - 1 : 0;
    for (int i = 0; i < n; i++) {
        int d = sc_wrap_dim(cx, dims[i], x->rank);
        if (d < 0) return -1;
        if (mask >> d & 1) return sc_raise(cx, "RuntimeError", "dim %d appears multiple times in the list of dims", d);
        mask |= 1 << d;
    }
    return mask;
}

static sc_tensor *new_reduced(sc_ctx *cx, const sc_tensor *x, uint32_t mask, bool keepdim, int dtype) {
    int64_t size[SC_MAX_RANK];
    int rank = 0;
    for (int d = 0; d < x->rank; d++) {
        if (!(mask >> d & 1)) size[rank++] = x->size[d];
        else if (keepdim) size[rank++] = 1;
    }
    return sc_empty(cx, dtype, rank, size);
}

static int check_extreme(sc_ctx *cx, const sc_tensor *x, int op, const int64_t *dims, int n) {
    const char *name = op == SC_AMAX ? "amax" : "amin";
    if (n == 0)
        return sc_raise(cx, "RuntimeError",
                        "%s(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with "
                        "the 'dim' argument.",
                        name);
    for (int i = 0; i < n; i++)
        if (x->rank && x->size[dims[i] < 0 ? dims[i] + x->rank : dims[i]] == 0)
            return sc_raise(cx, "IndexError", "%s(): Expected reduction dim %lld to have non-zero size.", name,
                            (long long)dims[i]);
    return 0;
}

/* Return x in the dtype to compute in, a new reference, converted first to the dtype `first`, as in eager. */
static sc_tensor *as_operand(sc_ctx *cx, const sc_tensor *x, int first, int then) {
    sc_tensor *converted = sc_to_dtype(cx, (sc_tensor *)x, first);
    sc_tensor *t = converted ? sc_to_dtype(cx, converted, then) : NULL;
    sc_release(cx, converted);
    return t;
}

static void divide_elements(const sc_tensor *t, double by) {
    if (t->dtype == SC_F32)
        for (int64_t i = 0; i < t->numel; i++) ((float *)t->data)[i] /= (float)by;
    else
        for (int64_t i = 0; i < t->numel; i++) ((double *)t->data)[i] /= by;
}

/* Reduce rows of a contiguous tensor whose dtype needs no conversion. This needs no plan. */
static sc_tensor *reduce_rows(sc_ctx *cx, const sc_tensor *x, int op, bool keepdim) {
    int last = x->rank - 1;
    sc_tensor *out = new_reduced(cx, x, UINT32_C(1) << last, keepdim, x->dtype);
    if (!out) return NULL;
    int64_t n = x->size[last];
    reduction r = {.kept = 1, .kept_size = {out->numel}, .kept_x = {n}, .kept_out = {1},
                   .folded = 1, .folded_size = {n}, .folded_x = {1}};
    reduce_elements(kernel_for(op, x->dtype), &r, x->data, out->data);
    if (op == SC_MEAN) divide_elements(out, (double)n);
    return out;
}

/* Return whether the first dimension of a contiguous tensor has so few rows that the lowest level holds their result. */
static bool has_few_rows(const sc_tensor *x) {
    return x->rank > 1 && x->size[0] < REDUCE_BLOCK && x->numel <= REDUCE_GRAIN && x->numel >= x->size[0] * REDUCE_LANES;
}

/* Reduce the first dimension of such a tensor, whose dtype needs no conversion. The elements of the result are the level. */
static sc_tensor *reduce_few_rows(sc_ctx *cx, const sc_tensor *x, int op, bool keepdim) {
    const reduce_kernel *k = kernel_for(op, x->dtype);
    sc_tensor *out = new_reduced(cx, x, 1, keepdim, x->dtype);
    if (!out) return NULL;
    int64_t width = out->numel;
    for (int64_t block = 0; block < width; block += REDUCE_LANES) {
        int64_t j = block + REDUCE_LANES <= width ? block : width - REDUCE_LANES;
        char *to = (char *)out->data + j * k->bytes;
        k->start(to);
        k->fold(to, (const char *)x->data + j * k->bytes, x->size[0], width, REDUCE_LANES);
    }
    if (op == SC_MEAN) divide_elements(out, (double)x->size[0]);
    return out;
}

SC_KERNEL sc_tensor *sc_reduce(sc_ctx *cx, const sc_tensor *x, int op, const int64_t *dims, int n, bool keepdim, int dtype) {
    bool floats = x->dtype == dtype && (dtype == SC_F32 || dtype == SC_F64);
    if (floats && n == 1 && op != SC_ALL && op != SC_ANY && x->numel && x->rank && sc_is_contiguous(x)) {
        if (dims[0] == x->rank - 1) return reduce_rows(cx, x, op, keepdim);
        if (dims[0] == 0 && has_few_rows(x)) return reduce_few_rows(cx, x, op, keepdim);
    }
    int64_t mask = dim_mask(cx, x, dims, n);
    if (mask < 0) return NULL;
    if ((op == SC_AMAX || op == SC_AMIN) && x->numel == 0 && check_extreme(cx, x, op, dims, n)) return NULL;
    if (op == SC_MEAN && !sc_is_float(dtype)) {
        sc_raise(cx, "RuntimeError",
                 "mean(): could not infer output dtype. %s dtype must be either a floating point or complex dtype. Got: %s",
                 dtype == x->dtype ? "Input" : "Optional", sc_scalar_type_name(dtype));
        return NULL;
    }
    if (op == SC_SUM_SQUARES && !sc_is_float(dtype)) {
        sc_raise(cx, "NotImplementedError", "sums of squares of integers");
        return NULL;
    }
    int first = op == SC_ALL || op == SC_ANY ? SC_BOOL : dtype, then = kernel_dtype(op, first);
    sc_tensor *in = as_operand(cx, x, first, then);
    sc_tensor *wide = in ? new_reduced(cx, x, (uint32_t)mask, keepdim, then) : NULL;
    sc_tensor *out = NULL;
    if (wide) {
        reduction r;
        plan_reduction(&r, in, (uint32_t)mask);
        if (wide->numel) reduce_shared(cx, kernel_for(op, then), &r, in, wide);
        if (then == SC_BOOL) make_bools(wide);
        if (op == SC_MEAN && wide->numel) divide_elements(wide, (double)(x->numel / wide->numel));
        out = sc_to_dtype(cx, wide, dtype);
    }
    sc_release(cx, wide);
    sc_release(cx, in);
    return out;
}

/* ---- positions ---- */

#define NEVER(x) false
#define NAME find_f32
#define T float
#define IS_NAN isnan
#include "sc_find.inc"
#define NAME find_f64
#define T double
#define IS_NAN isnan
#include "sc_find.inc"
#define NAME find_i64
#define T int64_t
#define IS_NAN NEVER
#include "sc_find.inc"

#undef NEVER

static void find_positions(const reduction *r, const sc_tensor *in, const sc_tensor *extreme, int64_t *out) {
    int64_t n = r->folded_size[0], step = r->folded_x[0];
    walk kept = walk_over(r->kept, r->kept_size, 0);
    do {
        int64_t x = walk_offset(&kept, r->kept_x), o = walk_offset(&kept, r->kept_out);
        out[o] = in->dtype == SC_F32   ? find_f32((const float *)in->data + x, n, step, ((float *)extreme->data)[o])
                 : in->dtype == SC_F64 ? find_f64((const double *)in->data + x, n, step, ((double *)extreme->data)[o])
                                       : find_i64((const int64_t *)in->data + x, n, step, ((int64_t *)extreme->data)[o]);
    } while (walk_next(&kept));
}

static const char *arg_name(int op) {
    return op == SC_ARGMAX ? "argmax" : "argmin";
}

/* Return positions of extremes: find the extreme by sc_reduce, then its first position. Both passes are simple
 * loops. */
SC_KERNEL sc_tensor *sc_arg_reduce(sc_ctx *cx, const sc_tensor *x, int op, int64_t dim, bool keepdim) {
    int d = sc_wrap_dim(cx, dim, x->rank);
    if (d < 0) return NULL;
    if (x->dtype == SC_BOOL) {
        sc_raise(cx, "RuntimeError", "%s(): does not support bool input", arg_name(op));
        return NULL;
    }
    if (x->rank && x->size[d] == 0) {
        sc_raise(cx, "IndexError", "%s(): Expected reduction dim %lld to have non-zero size.", arg_name(op), (long long)dim);
        return NULL;
    }
    int dtype = !sc_is_float(x->dtype) ? SC_I64 : x->dtype == SC_F64 ? SC_F64 : SC_F32;
    const int64_t dims[1] = {d};
    sc_tensor *in = sc_to_dtype(cx, (sc_tensor *)x, dtype);
    sc_tensor *extreme = in ? sc_reduce(cx, in, op == SC_ARGMAX ? SC_AMAX : SC_AMIN, dims, 1, keepdim, dtype) : NULL;
    sc_tensor *out = extreme ? sc_empty(cx, SC_I64, extreme->rank, extreme->size) : NULL;
    if (out && out->numel) {
        reduction r;
        plan_reduction(&r, in, 1u << d);
        find_positions(&r, in, extreme, out->data);
    }
    sc_release(cx, extreme);
    sc_release(cx, in);
    return out;
}

SC_KERNEL sc_tensor *sc_arg_reduce_all(sc_ctx *cx, const sc_tensor *x, int op) {
    const int64_t flat[1] = {x->numel};
    if (x->numel == 0) {
        sc_raise(cx, "IndexError", "%s(): Expected reduction dim to be specified for input.numel() == 0.", arg_name(op));
        return NULL;
    }
    sc_tensor *row = sc_reshape(cx, x, flat, 1);
    sc_tensor *out = row ? sc_arg_reduce(cx, row, op, 0, false) : NULL;
    sc_release(cx, row);
    return out;
}

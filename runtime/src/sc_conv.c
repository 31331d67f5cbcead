/* sc_conv.c - conv2d and conv_transpose2d. float and double go through shifted views of planes and the matrix kernels; halves go
 * through float; integers through plain loops of wrapping 64-bit sums. */
#include "sc_gemm.h"
#include "sc_image.h"

enum {
    CONV_KC = 256,         /* terms of a panel that are used before the next: 64 KB */
    CONV_PLANES = 1 << 19, /* bytes that the planes of a chunk may take: half of a second cache. More where a few rows need more */
};

typedef struct conv_shape { /* of one group; pairs are (h, w) */
    int64_t channels, filters, in[2], out[2], kernel[2], stride[2], padding[2], dilation[2];
} conv_shape;

/* A chunk of the input, some images or some rows of one: a plane for each channel and phase, `plane` elements apart, holds rows of
 * `width` elements of all images. Element (r, i) of the phase (j, l) is that of the image at row
 * (first_row + r) stride + j dilation % stride - before, and so on for the column: 0 where that is outside. Pixels are counted
 * through rows and images, those between the results too. No phases: the images themselves, seen as one row each. */
typedef struct conv_planes {
    int64_t channels, in[2], stride[2], dilation[2], before[2], phases[2];
    int64_t images, rows, width, plane, first_image, first_row;
} conv_planes;

/* A product of weights [filters, terms] with views of the planes, each at an offset from the pixel: size results, of which this
 * chunk has `rows` rows. Result (y, x) goes to start + step (y, x) of the output, whose images are so many rows apart. */
typedef struct conv_view {
    int64_t terms, filters, rows, size[2], start[2], step[2], images_apart, filters_apart, out_width, *offset;
    const void *weight; /* of the first group */
} conv_view;

typedef struct conv_run { int64_t from, to, n; } conv_run;

#define T float
#define N(name) conv_##name##_f32
#define G(name) gemm_##name##_f32
#include "sc_conv_tile.inc"
#undef T
#undef N
#undef G
#define T double
#define N(name) conv_##name##_f64
#define G(name) gemm_##name##_f64
#include "sc_conv_tile.inc"
#undef T
#undef N
#undef G

static void conv_image_i64(const conv_shape *s, const int64_t *x, const int64_t *w, const int64_t *bias, int64_t *out) {
    int64_t area = s->kernel[0] * s->kernel[1], depth = s->channels * area;
    for (int64_t f = 0; f < s->filters; f++, w += depth)
        for (int64_t p = 0; p < s->out[0] * s->out[1]; p++) {
            uint64_t sum = bias ? (uint64_t)bias[f] : 0;
            for (int64_t k = 0; k < depth; k++) {
                int64_t y = p / s->out[1] * s->stride[0] - s->padding[0] + k % area / s->kernel[1] * s->dilation[0];
                int64_t z = p % s->out[1] * s->stride[1] - s->padding[1] + k % s->kernel[1] * s->dilation[1];
                if (y >= 0 && y < s->in[0] && z >= 0 && z < s->in[1])
                    sum += (uint64_t)w[k] * (uint64_t)x[(k / area * s->in[0] + y) * s->in[1] + z];
            }
            *out++ = (int64_t)sum;
        }
}

static void conv_transposed_i64(const conv_shape *s, const int64_t *x, const int64_t *w, const int64_t *bias, int64_t *out) {
    int64_t area = s->kernel[0] * s->kernel[1], pixels = s->out[0] * s->out[1];
    for (int64_t f = 0; f < s->filters; f++)
        for (int64_t p = 0; p < pixels; p++) out[f * pixels + p] = bias ? bias[f] : 0;
    for (int64_t c = 0; c < s->channels; c++)
        for (int64_t p = 0; p < s->in[0] * s->in[1]; p++, x++)
            for (int64_t k = 0; k < s->filters * area; k++) {
                int64_t y = p / s->in[1] * s->stride[0] - s->padding[0] + k % area / s->kernel[1] * s->dilation[0];
                int64_t z = p % s->in[1] * s->stride[1] - s->padding[1] + k % s->kernel[1] * s->dilation[1];
                if (y < 0 || y >= s->out[0] || z < 0 || z >= s->out[1]) continue;
                uint64_t *to = (uint64_t *)out + (k / area * s->out[0] + y) * s->out[1] + z;
                *to += (uint64_t)w[c * s->filters * area + k] * (uint64_t)*x;
            }
}

/* ---- checks, in eager's order ---- */

static int conv_check_numbers(sc_ctx *cx, const sc_tensor *x, const sc_tensor *w, const int64_t *stride, const int64_t *padding,
                              const int64_t *dilation, int64_t groups) {
    if (x->rank != 3 && x->rank != 4)
        return sc_raise(cx, "RuntimeError", "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: %s",
                        sc_shape_text(x).s);
    if (w->rank < 3) return sc_raise(cx, "RuntimeError", "weight should have at least three dimensions");
    if (w->rank != 4)
        return sc_raise(cx, "RuntimeError",
                        "expected stride to be a single integer value or a list of %d values to match the convolution "
                        "dimensions, but got stride=%s", w->rank - 2, sc_sizes_text(stride, 2).s);
    if (padding[0] < 0 || padding[1] < 0) return sc_raise(cx, "RuntimeError", "negative padding is not supported");
    if (stride[0] <= 0 || stride[1] <= 0) return sc_raise(cx, "RuntimeError", "non-positive stride is not supported");
    if (dilation[0] <= 0 || dilation[1] <= 0) return sc_raise(cx, "RuntimeError", "non-positive dilation is not supported");
    if (groups <= 0) return sc_raise(cx, "RuntimeError", "non-positive groups is not supported");
    return 0;
}

/* x is batched: eager's messages show it so. */
static int conv_check_shapes(sc_ctx *cx, const sc_tensor *x, const sc_tensor *w, const sc_tensor *bias, const int64_t *padding,
                             const int64_t *dilation, int64_t groups) {
    sc_text weight = sc_shape_text(w);
    if (w->size[0] < groups)
        return sc_raise(cx, "RuntimeError",
                        "Given groups=%lld, expected weight to be at least %lld at dimension 0, but got weight of size %s instead",
                        (long long)groups, (long long)groups, weight.s);
    if (w->size[0] % groups)
        return sc_raise(cx, "RuntimeError",
                        "Given groups=%lld, expected weight to be divisible by %lld at dimension 0, but got weight of size [%s] "
                        "instead", (long long)groups, (long long)groups, weight.s);
    if (x->size[1] != w->size[1] * groups)
        return sc_raise(cx, "RuntimeError",
                        "Given groups=%lld, weight of size %s, expected input%s to have %lld channels, but got %lld channels instead",
                        (long long)groups, weight.s, sc_shape_text(x).s, (long long)(w->size[1] * groups), (long long)x->size[1]);
    if (bias && (bias->rank != 1 || bias->size[0] != w->size[0]))
        return sc_raise(cx, "RuntimeError",
                        "Given weight of size %s, expected bias to be 1-dimensional with %lld elements, but got bias of size %s "
                        "instead", weight.s, (long long)w->size[0], sc_shape_text(bias).s);
    int64_t padded[2], kernel[2];
    for (int i = 0; i < 2; i++) {
        padded[i] = x->size[2 + i] + 2 * padding[i];
        kernel[i] = dilation[i] * (w->size[2 + i] - 1) + 1;
    }
    if (padded[0] < kernel[0] || padded[1] < kernel[1])
        return sc_raise(cx, "RuntimeError",
                        "Calculated padded input size per channel: (%lld x %lld). Kernel size: (%lld x %lld). Kernel size can't be "
                        "greater than actual input size", (long long)padded[0], (long long)padded[1], (long long)kernel[0],
                        (long long)kernel[1]);
    if (x->size[0] && x->size[1] && x->size[2] * x->size[3] == 0)
        return sc_raise(cx, "RuntimeError", "Only zero batch or zero channel inputs are supported, but got input shape: %s",
                        sc_shape_text(x).s);
    if (w->size[2] == 0 || w->size[3] == 0) /* eager fails inside its library; the words are ours */
        return sc_raise(cx, "RuntimeError", "kernels without elements are not supported: weight of size %s", weight.s);
    return 0;
}

static const char *conv_type_name(int dtype) { /* of a tensor type, as eager prints it */
    static const char *const names[SC_NDTYPES] = {
        "CPUBoolType",   "torch.ByteTensor", "torch.CharTensor", "torch.ShortTensor", "torch.IntTensor",
        "torch.LongTensor", "torch.HalfTensor", "CPUBFloat16Type", "torch.FloatTensor", "torch.DoubleTensor",
        "CPUComplexFloatType", "CPUComplexDoubleType"};
    return names[dtype];
}
static int conv_check_dtypes(sc_ctx *cx, const sc_tensor *x, const sc_tensor *w, const sc_tensor *bias) {
    if (x->numel == 0) return 0;
    if (bias && bias->dtype != x->dtype)
        return sc_raise(cx, "RuntimeError", "Input type (%s) and bias type (%s) should be the same", sc_dtype_name(x->dtype),
                        sc_dtype_name(bias->dtype));
    if (x->dtype == SC_BOOL) return sc_raise(cx, "NotImplementedError", "\"slow_conv2d_cpu\" not implemented for 'Bool'");
    if (x->dtype == w->dtype) return 0;
    if (x->dtype == SC_F32 || x->dtype == SC_BF16)
        return sc_raise(cx, "RuntimeError",
                        "Input type (%s) and weight type (%s) should be the same or input should be a MKLDNN tensor and weight is "
                        "a dense tensor", conv_type_name(x->dtype), conv_type_name(w->dtype));
    return sc_raise(cx, "RuntimeError", "expected scalar type %s but found %s", sc_scalar_type_name(x->dtype),
                    sc_scalar_type_name(w->dtype));
}

/* ---- plans ---- */

enum { CONV_WIDTH_BYTES = GEMM_NV * SC_VL, /* of the pixels that are worked on at once */
       CONV_SHARED_VIEWS = 16 };          /* up to so many views of a plan are copied for each worker */

/* How a convolution is cut into chunks and products. */
typedef struct conv_plan {
    conv_planes planes;
    conv_view *views;
    int64_t n_views, rows, halo, batch, groups, chunk_images; /* rows: of results, in a chunk; halo: what their planes have more */
    int dtype;
    void *memory, *scratch;
    char *more;    /* planes and scratch of the second worker, and so on, `apart` bytes each */
    int64_t apart, result_rows;
} conv_plan;

static int64_t conv_common_divisor(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b, b = rest;
    }
    return a;
}

static int64_t conv_divide_up(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

/* Sizes of chunks, once planes know phases and width: so many images as fit, or so many rows. */
static void conv_cut(conv_plan *plan, int64_t result_rows) {
    conv_planes *p = &plan->planes;
    int64_t item = (int64_t)sc_dtype_size(plan->dtype), row = p->channels * p->phases[0] * p->phases[1] * p->width * item;
    int64_t most = CONV_PLANES / (row > 0 ? row : 1) - plan->halo, least = 4 * plan->halo + 4;
    plan->result_rows = result_rows;
    plan->rows = most > least ? most : least;
    if (plan->rows >= result_rows) plan->rows = result_rows;
    else plan->rows = conv_divide_up(result_rows, conv_divide_up(result_rows, plan->rows)); /* chunks of about the same size */
    p->rows = plan->rows + plan->halo;
    plan->chunk_images = plan->rows < result_rows ? 1 : CONV_PLANES / (row * p->rows > 0 ? row * p->rows : 1);
    if (plan->chunk_images < 1) plan->chunk_images = 1;
    if (plan->chunk_images > plan->batch) plan->chunk_images = plan->batch;
    /* a panel may read so far beyond a plane; an odd number of cache lines, so that planes do not fall into the same sets */
    int64_t line = SC_ALIGN / item, end = plan->chunk_images * p->rows * p->width + CONV_WIDTH_BYTES / item;
    p->plane = (conv_divide_up(end, line) | 1) * line;
}

/* Chunks of images, and of rows of each. */
static int64_t conv_count_chunks(const conv_plan *plan) {
    return conv_divide_up(plan->batch, plan->chunk_images) * conv_divide_up(plan->result_rows, plan->rows);
}

/* Memory for planes, a panel, results of a panel, offsets and rearranged weights; the first three for each worker. */
static int conv_allocate(sc_ctx *cx, conv_plan *plan, int64_t filters, int64_t offsets, int64_t weights, sc_tensor **memory) {
    const conv_planes *p = &plan->planes;
    int64_t item = (int64_t)sc_dtype_size(plan->dtype), planes = p->channels * p->phases[0] * p->phases[1] * p->plane * item;
    int64_t scratch = (CONV_KC + filters) * CONV_WIDTH_BYTES, lists = conv_divide_up(offsets * 8, SC_ALIGN) * SC_ALIGN;
    int64_t shared = conv_divide_up(lists + weights * item, SC_ALIGN) * SC_ALIGN, workers = sc_workers(cx), chunks = conv_count_chunks(plan);
    if (workers > chunks) workers = chunks;
    plan->apart = conv_divide_up(planes + scratch, SC_ALIGN) * SC_ALIGN;
    int64_t bytes = planes + scratch + shared + SC_ALIGN + (workers - 1) * plan->apart;
    if (!(*memory = sc_empty(cx, SC_U8, 1, &bytes))) return -1;
    plan->memory = (*memory)->data;
    plan->scratch = (char *)plan->memory + planes;
    plan->more = (char *)plan->memory + conv_divide_up(planes + scratch + shared, SC_ALIGN) * SC_ALIGN;
    return 0;
}

static void conv_chunk(conv_plan *plan, const void *x, const void *bias, void *out) {
    conv_planes *p = &plan->planes;
    size_t item = sc_dtype_size(plan->dtype);
    bool plain = p->phases[0] == 0, single = plan->dtype == SC_F32;
    int64_t channels = p->channels / plan->groups, phases = plain ? 1 : p->phases[0] * p->phases[1];
    const char *base = plain ? (const char *)x + (size_t)(p->first_image * p->channels * p->plane) * item : plan->memory;
    if (!plain) single ? conv_fill_planes_f32(p, x, plan->memory) : conv_fill_planes_f64(p, x, plan->memory);
    for (int64_t g = 0; g < plan->groups; g++, base += (size_t)(channels * phases * p->plane) * item)
        for (int64_t i = 0; i < plan->n_views; i++) {
            conv_view *v = &plan->views[i];
            v->rows = v->size[0] - p->first_row < plan->rows ? v->size[0] - p->first_row : plan->rows;
            if (v->rows <= 0 || v->size[1] <= 0) continue;
            const void *w = (const char *)v->weight + (size_t)(g * v->filters * v->terms) * item;
            const void *b = bias ? (const char *)bias + (size_t)(g * v->filters) * item : NULL;
            void *to = (char *)out + (size_t)(g * v->filters * v->filters_apart) * item;
            if (single) conv_view_f32(p, v, w, b, (const void *)base, plan->scratch, to);
            else conv_view_f64(p, v, w, b, (const void *)base, plan->scratch, to);
        }
}

typedef struct conv_job { const conv_plan *plan; const void *x, *bias; void *out; } conv_job;

/* Chunks begin..end - 1, in the worker's own planes. */
static void conv_part(void *arg, int64_t begin, int64_t end, int worker) {
    const conv_job *job = arg;
    conv_plan plan = *job->plan;
    conv_view views[CONV_SHARED_VIEWS];
    int64_t of_image = conv_divide_up(plan.result_rows, plan.rows);
    if (plan.n_views <= CONV_SHARED_VIEWS) plan.views = memcpy(views, plan.views, (size_t)plan.n_views * sizeof *views);
    if (worker) {
        int64_t scratch = (char *)plan.scratch - (char *)plan.memory;
        plan.memory = plan.more + (worker - 1) * plan.apart;
        plan.scratch = (char *)plan.memory + scratch;
    }
    for (int64_t i = begin; i < end; i++) {
        conv_planes *p = &plan.planes;
        p->first_image = i / of_image * plan.chunk_images, p->first_row = i % of_image * plan.rows;
        p->images = plan.batch - p->first_image < plan.chunk_images ? plan.batch - p->first_image : plan.chunk_images;
        conv_chunk(&plan, job->x, job->bias, job->out);
    }
}

static void conv_chunks(sc_ctx *cx, conv_plan *plan, const sc_tensor *x, const sc_tensor *bias, sc_tensor *out) {
    int64_t terms = 0, chunks = conv_count_chunks(plan);
    for (int64_t i = 0; i < plan->n_views; i++) terms += plan->views[i].terms;
    double ns = gemm_ns(out->numel, terms / plan->n_views, 1, sc_dtype_size(plan->dtype));
    conv_job job = {plan, x->data, bias ? bias->data : NULL, out->data};
    sc_parallel(cx, chunks, plan->n_views <= CONV_SHARED_VIEWS ? 1 : chunks, ns, conv_part, &job);
}

static conv_plan conv_new_plan(const conv_shape *s, int dtype, int64_t batch, int64_t groups) {
    return (conv_plan){.planes = {.channels = groups * s->channels, .in = {s->in[0], s->in[1]}, .stride = {1, 1}, .dilation = {1, 1},
                                  .phases = {1, 1}},
                       .n_views = 1, .batch = batch, .groups = groups, .dtype = dtype};
}

/* One place of the kernel, every pixel, no padding: the image is its own planes. */
static int conv_pointwise(sc_ctx *cx, const conv_shape *s, int dtype, int64_t groups, const sc_tensor *x, const sc_tensor *w,
                          const sc_tensor *bias, sc_tensor *out) {
    conv_plan plan = conv_new_plan(s, dtype, x->size[0], groups);
    int64_t pixels = s->out[0] * s->out[1];
    conv_planes *p = &plan.planes;
    p->phases[0] = p->phases[1] = 0;
    p->rows = 1, p->width = p->plane = pixels;
    plan.rows = plan.chunk_images = plan.result_rows = 1;
    conv_view view = {.terms = s->channels, .filters = s->filters, .size = {1, pixels}, .step = {1, 1}, .filters_apart = pixels,
                      .images_apart = groups * s->filters, .out_width = pixels, .weight = w->data};
    sc_tensor *memory;
    if (conv_allocate(cx, &plan, s->filters, s->channels, 0, &memory) < 0) return -1;
    plan.views = &view;
    view.offset = (int64_t *)(void *)((char *)plan.scratch + (CONV_KC + s->filters) * CONV_WIDTH_BYTES);
    for (int64_t c = 0; c < s->channels; c++) view.offset[c] = c * pixels;
    conv_chunks(cx, &plan, x, bias, out);
    sc_release(cx, memory);
    return 0;
}

static int conv_forward(sc_ctx *cx, const conv_shape *s, int dtype, int64_t groups, const sc_tensor *x, const sc_tensor *w,
                        const sc_tensor *bias, sc_tensor *out) {
    conv_plan plan = conv_new_plan(s, dtype, x->size[0], groups);
    conv_planes *p = &plan.planes;
    int64_t period[2], terms = s->channels * s->kernel[0] * s->kernel[1];
    for (int d = 0; d < 2; d++) {
        period[d] = s->stride[d] / conv_common_divisor(s->stride[d], s->dilation[d]);
        p->phases[d] = s->kernel[d] < period[d] ? s->kernel[d] : period[d];
        p->stride[d] = s->stride[d], p->dilation[d] = s->dilation[d], p->before[d] = s->padding[d];
    }
    plan.halo = (s->kernel[0] - 1) * s->dilation[0] / s->stride[0];
    p->width = s->out[1] + (s->kernel[1] - 1) * s->dilation[1] / s->stride[1];
    conv_cut(&plan, s->out[0]);
    conv_view view = {.terms = terms, .filters = s->filters, .size = {s->out[0], s->out[1]}, .step = {1, 1},
                      .filters_apart = s->out[0] * s->out[1], .images_apart = groups * s->filters * s->out[0],
                      .out_width = s->out[1], .weight = w->data};
    sc_tensor *memory;
    if (conv_allocate(cx, &plan, s->filters, terms, 0, &memory) < 0) return -1;
    plan.views = &view;
    view.offset = (int64_t *)(void *)((char *)plan.scratch + (CONV_KC + s->filters) * CONV_WIDTH_BYTES);
    int64_t *to = view.offset;
    for (int64_t c = 0; c < s->channels; c++)
        for (int64_t y = 0; y < s->kernel[0]; y++)
            for (int64_t z = 0; z < s->kernel[1]; z++)
                *to++ = ((c * p->phases[0] + y % period[0]) * p->phases[1] + z % period[1]) * p->plane +
                        y * s->dilation[0] / s->stride[0] * p->width + z * s->dilation[1] / s->stride[1];
    conv_chunks(cx, &plan, x, bias, out);
    sc_release(cx, memory);
    return 0;
}

/* Results at places r, r + stride, ... of one dim of a transposed convolution take place k of the kernel from the input that is
 * *shift further on, if from any. */
static bool conv_tap(const conv_shape *s, int d, int64_t r, int64_t k, int64_t *shift) {
    int64_t at = r + s->padding[d] - k * s->dilation[d];
    *shift = at / s->stride[d];
    return at % s->stride[d] == 0;
}

/* A view for each place modulo the stride, which has its own places of the kernel. w is [channels, filters, ...] by group. */
static int conv_transposed(sc_ctx *cx, const conv_shape *s, int dtype, int64_t groups, const sc_tensor *x, const sc_tensor *w,
                           const sc_tensor *bias, sc_tensor *out) {
    conv_plan plan = conv_new_plan(s, dtype, x->size[0], groups);
    conv_planes *p = &plan.planes;
    int64_t low[2], high[2], most[2], shift[2], area = s->kernel[0] * s->kernel[1];
    for (int d = 0; d < 2; d++) {
        low[d] = INT64_MAX, high[d] = INT64_MIN, most[d] = conv_divide_up(s->out[d], s->stride[d]);
        for (int64_t r = 0; r < s->stride[d]; r++)
            for (int64_t k = 0; k < s->kernel[d]; k++) {
                if (!conv_tap(s, d, r, k, &shift[d])) continue;
                low[d] = shift[d] < low[d] ? shift[d] : low[d];
                high[d] = shift[d] > high[d] ? shift[d] : high[d];
            }
        p->before[d] = -low[d];
    }
    plan.halo = high[0] - low[0];
    p->width = most[1] + high[1] - low[1];
    conv_cut(&plan, most[0]);
    plan.n_views = s->stride[0] * s->stride[1];
    int64_t terms = s->channels * area, size[1] = {plan.n_views * (int64_t)sizeof(conv_view)};
    sc_tensor *memory = NULL, *views = sc_empty(cx, SC_U8, 1, size);
    if (!views || conv_allocate(cx, &plan, s->filters, terms + area, groups * s->filters * terms, &memory) < 0) {
        sc_release(cx, views);
        return -1;
    }
    plan.views = views->data;
    int64_t *offset = (int64_t *)(void *)((char *)plan.scratch + (CONV_KC + s->filters) * CONV_WIDTH_BYTES), *tap = offset + terms;
    size_t item = sc_dtype_size(dtype), group = (size_t)(s->channels * s->filters * area) * item;
    char *weight = (char *)offset + conv_divide_up((terms + area) * 8, SC_ALIGN) * SC_ALIGN;
    for (int64_t i = 0; i < plan.n_views; i++) {
        int64_t ry = i / s->stride[1], rx = i % s->stride[1], taps = 0, *first = offset;
        for (int64_t y = 0; y < s->kernel[0]; y++)
            for (int64_t z = 0; z < s->kernel[1]; z++)
                if (conv_tap(s, 0, ry, y, &shift[0]) && conv_tap(s, 1, rx, z, &shift[1])) {
                    tap[taps++] = y * s->kernel[1] + z;
                    *offset++ = (shift[0] - low[0]) * p->width + shift[1] - low[1];
                }
        for (int64_t c = 1; c < s->channels; c++)
            for (int64_t t = 0; t < taps; t++) *offset++ = first[t] + c * p->plane;
        plan.views[i] = (conv_view){.terms = s->channels * taps, .filters = s->filters, .start = {ry, rx}, .weight = weight,
                                    .size = {conv_divide_up(s->out[0] - ry, s->stride[0]), conv_divide_up(s->out[1] - rx, s->stride[1])},
                                    .step = {s->stride[0], s->stride[1]}, .filters_apart = s->out[0] * s->out[1],
                                    .images_apart = groups * s->filters * s->out[0], .out_width = s->out[1], .offset = first};
        for (int64_t g = 0; g < groups; g++, weight += (size_t)(s->filters * s->channels * taps) * item) {
            const void *from = (const char *)w->data + (size_t)g * group;
            if (dtype == SC_F32) conv_transposed_weight_f32(s, from, tap, taps, (float *)(void *)weight);
            else conv_transposed_weight_f64(s, from, tap, taps, (double *)(void *)weight);
        }
    }
    conv_chunks(cx, &plan, x, bias, out);
    sc_release(cx, memory);
    sc_release(cx, views);
    return 0;
}

/* ---- the operations ---- */

static void conv_run_i64(const conv_shape *s, int64_t groups, bool transposed, const sc_tensor *x, const sc_tensor *w,
                         const sc_tensor *bias, sc_tensor *out) {
    int64_t x_step = s->channels * s->in[0] * s->in[1], out_step = s->filters * s->out[0] * s->out[1];
    int64_t w_step = s->filters * s->channels * s->kernel[0] * s->kernel[1], *to = out->data;
    const int64_t *from = x->data;
    for (int64_t i = 0; i < x->size[0] * groups; i++, from += x_step, to += out_step) {
        const int64_t *weight = (const int64_t *)w->data + i % groups * w_step;
        const int64_t *b = bias ? (const int64_t *)bias->data + i % groups * s->filters : NULL;
        (transposed ? conv_transposed_i64 : conv_image_i64)(s, from, weight, b, to);
    }
}

/* all contiguous and of dtype, which is f32, f64 or i64; out [batch, groups * filters, ...] exists */
static int conv_run_all(sc_ctx *cx, const conv_shape *s, int dtype, int64_t groups, bool transposed, const sc_tensor *x,
                        const sc_tensor *w, const sc_tensor *bias, sc_tensor *out) {
    bool pointwise = s->kernel[0] * s->kernel[1] == 1 && s->stride[0] * s->stride[1] == 1 && !(s->padding[0] | s->padding[1]);
    if (dtype == SC_I64) {
        conv_run_i64(s, groups, transposed, x, w, bias, out);
        return 0;
    }
    if (transposed) return conv_transposed(cx, s, dtype, groups, x, w, bias, out);
    return (pointwise ? conv_pointwise : conv_forward)(cx, s, dtype, groups, x, w, bias, out);
}

/* x is batched and everything is checked */
static sc_tensor *conv_compute(sc_ctx *cx, const conv_shape *s, int64_t groups, bool transposed, const sc_tensor *x,
                               const sc_tensor *w, const sc_tensor *bias) {
    int dtype = x->dtype == SC_F64 ? SC_F64 : x->dtype >= SC_F16 ? SC_F32 : SC_I64;
    int64_t size[4] = {x->size[0], x->size[1] ? groups * s->filters : 0, s->out[0], s->out[1]}; /* no channels in: none out, as in eager */
    sc_tensor *wide = sc_empty(cx, dtype, 4, size), *out = NULL, *in = NULL, *weight = NULL, *b = NULL;
    if (!wide) return NULL;
    bool ready = wide->numel == 0;
    if (!ready && (in = image_prepared(cx, x, dtype)) && (weight = image_prepared(cx, w, dtype)) &&
        (!bias || (b = image_prepared(cx, bias, dtype))))
        ready = conv_run_all(cx, s, dtype, groups, transposed, in, weight, b, wide) == 0;
    if (ready) out = sc_to_dtype(cx, wide, x->dtype);
    sc_release(cx, in);
    sc_release(cx, weight);
    sc_release(cx, b);
    sc_release(cx, wide);
    return image_channels_last(x) || image_channels_last(w) ? image_to_channels_last(cx, out) : out;
}

static conv_shape conv_shape_of(const sc_tensor *batch, const sc_tensor *w, const int64_t *stride, const int64_t *padding,
                                const int64_t *dilation) {
    conv_shape s;
    for (int i = 0; i < 2; i++) {
        s.in[i] = batch->size[2 + i], s.kernel[i] = w->size[2 + i];
        s.stride[i] = stride[i], s.padding[i] = padding[i], s.dilation[i] = dilation[i];
    }
    return s;
}

SC_KERNEL sc_tensor *sc_conv2d(sc_ctx *cx, const sc_tensor *x, const sc_tensor *w, const sc_tensor *bias, const int64_t *stride,
                               const int64_t *padding, const int64_t *dilation, int64_t groups) {
    if (conv_check_numbers(cx, x, w, stride, padding, dilation, groups) < 0) return NULL;
    sc_tensor *batch = image_batched(cx, x), *out = NULL;
    if (!batch) return NULL;
    if (conv_check_shapes(cx, batch, w, bias, padding, dilation, groups) == 0 && conv_check_dtypes(cx, batch, w, bias) == 0) {
        conv_shape s = conv_shape_of(batch, w, stride, padding, dilation);
        s.channels = w->size[1], s.filters = w->size[0] / groups;
        for (int i = 0; i < 2; i++)
            s.out[i] = (s.in[i] + 2 * padding[i] - dilation[i] * (s.kernel[i] - 1) - 1) / stride[i] + 1;
        out = image_unbatched(cx, conv_compute(cx, &s, groups, false, batch, w, bias), x->rank == 3);
    }
    sc_release(cx, batch);
    return out;
}

static int conv_check_transposed(sc_ctx *cx, const sc_tensor *x, const sc_tensor *w, const sc_tensor *bias, const int64_t *output_padding,
                                 const int64_t *stride, const int64_t *dilation, int64_t groups) {
    if (x->size[1] != w->size[0] || w->size[0] % groups)
        return sc_raise(cx, "RuntimeError",
                        "Given transposed=1, weight of size %s, expected input%s to have %lld channels, but got %lld channels instead",
                        sc_shape_text(w).s, sc_shape_text(x).s, (long long)w->size[0], (long long)x->size[1]);
    if (bias && (bias->rank != 1 || bias->size[0] != w->size[1] * groups))
        return sc_raise(cx, "RuntimeError",
                        "Given transposed=1, weight of size %s, expected bias to be 1-dimensional with %lld elements, but got bias of "
                        "size %s instead", sc_shape_text(w).s, (long long)(w->size[1] * groups), sc_shape_text(bias).s);
    for (int i = 0; i < 2; i++) {
        if (output_padding[i] < 0) return sc_raise(cx, "RuntimeError", "negative output_padding is not supported");
        if (output_padding[i] >= stride[i] && output_padding[i] >= dilation[i])
            return sc_raise(cx, "RuntimeError",
                            "output padding must be smaller than either stride or dilation, but got output_padding_height: %lld "
                            "output_padding_width: %lld stride_height: %lld stride_width: %lld dilation_height: %lld dilation_width: "
                            "%lld", (long long)output_padding[0], (long long)output_padding[1], (long long)stride[0],
                            (long long)stride[1], (long long)dilation[0], (long long)dilation[1]);
    }
    if (w->size[2] == 0 || w->size[3] == 0)
        return sc_raise(cx, "RuntimeError", "kernels without elements are not supported: weight of size %s", sc_shape_text(w).s);
    return 0;
}

SC_KERNEL sc_tensor *sc_conv_transpose2d(sc_ctx *cx, const sc_tensor *x, const sc_tensor *w, const sc_tensor *bias,
                                         const int64_t *stride, const int64_t *padding, const int64_t *output_padding,
                                         int64_t groups, const int64_t *dilation) {
    if (conv_check_numbers(cx, x, w, stride, padding, dilation, groups) < 0) return NULL;
    sc_tensor *batch = image_batched(cx, x), *out = NULL;
    if (!batch) return NULL;
    if (conv_check_transposed(cx, batch, w, bias, output_padding, stride, dilation, groups) == 0 &&
        conv_check_dtypes(cx, batch, w, bias) == 0) {
        conv_shape s = conv_shape_of(batch, w, stride, padding, dilation);
        s.channels = w->size[0] / groups, s.filters = w->size[1];
        bool fits = true;
        for (int i = 0; i < 2; i++) {
            s.out[i] = (s.in[i] - 1) * stride[i] - 2 * padding[i] + dilation[i] * (s.kernel[i] - 1) + output_padding[i] + 1;
            fits = fits && s.out[i] > 0;
        }
        if (fits) out = image_unbatched(cx, conv_compute(cx, &s, groups, true, batch, w, bias), x->rank == 3);
        else
            sc_raise(cx, "RuntimeError",
                     "Given input size per channel: (%lld x %lld). Calculated output size per channel: (%lld x %lld). Output size is too "
                     "small", (long long)s.in[0], (long long)s.in[1], (long long)s.out[0], (long long)s.out[1]);
    }
    sc_release(cx, batch);
    return out;
}

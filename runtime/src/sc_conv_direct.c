/* sc_conv_direct.c - convolutions of floats and doubles: weights times shifted views of planes (sc_conv_direct_tile.inc). */
#include "sc_conv_direct.h"

#include "../include/sc_element.h"
#include "sc_gemm.h"
#include "sc_image.h"

enum {
    CONV_KC = 256,         /* terms of a block: a panel of 64 KB */
    CONV_PIECES = 4,       /* pieces for which a block of weights is used */
    CONV_COLLECT = 6,      /* collecting pixels in a panel costs about as much as this many filters */
    CONV_PLANES = 1 << 19, /* bytes of the planes of a chunk: half of an L2 cache. More if a few rows need more */
    CONV_WIDTH_BYTES = GEMM_NV * SC_VL, /* bytes of the pixels of a piece */
    CONV_WIDTH = CONV_WIDTH_BYTES / 4,  /* the most pixels of a piece */
};

/* A chunk of the input, channels of some images or of some rows of one: a plane for each channel and phase, `plane` elements apart,
 * holds rows of `width` elements of all images, which begin `image` elements apart. Element (r, i) of the phase (j, l) is that of the
 * image at row (first_row + r) stride + j dilation % stride - before, and so on for the column: 0 where that is outside. No phases:
 * the images themselves, seen as one row each. */
typedef struct conv_planes {
    int64_t channels, all_channels, in[2], stride[2], dilation[2], before[2], phases[2];
    int64_t images, rows, width, image, plane, first_image, first_channel, first_row;
} conv_planes;

/* A product of weights [filters, terms] with views of the planes, each at an offset from the pixel: size results.
 * Result (y, x) goes to start + step (y, x) of the output, whose images are so many rows apart. */
typedef struct conv_view {
    int64_t terms, filters, size[2], start[2], step[2], images_apart, filters_apart, out_width, *offset;
    const void *weight; /* of the first group */
    bool in_place;      /* pieces are not collected */
} conv_view;

/* n results: the offsets of their pixels in a plane, of the results in the piece, and of the results in the output */
typedef struct conv_run { int64_t from, at, to, n; } conv_run;

/* The results of one step: one run for each vector if pixels are read in place, else a panel of consecutive runs.
 * whole: whole vectors can be stored to the output. */
typedef struct conv_piece {
    int64_t n;
    int count;
    bool whole;
    conv_run run[CONV_WIDTH];
} conv_piece;

typedef struct conv_cursor { int64_t image, row, column; } conv_cursor; /* position of the next result of a chunk */

/* The elements of a kernel that each view of a transposed convolution uses: view v uses those at first[v]..first[v + 1]
 * - 1. */
typedef struct conv_taps { int64_t views, *first, *element; } conv_taps;

/* The plan of a convolution: its chunks and products. */
typedef struct conv_plan {
    conv_planes planes;
    conv_view *views;
    int64_t n_views, rows, halo, batch, groups, chunk_images, result_rows; /* rows: of results, in a chunk; halo: what their planes have more */
    bool by_rows;  /* the only filter of each group goes over rows; chunks are of one group, ... */
    int64_t group; /* ... this, else of all */
    int dtype;
    char *memory;           /* planes, panels and sums of the first worker, and so on, `apart` bytes each; then ... */
    int64_t planes_bytes, apart;
    int64_t *offsets;       /* ... those of all terms */
} conv_plan;

static int64_t conv_divide_up(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}
static int64_t conv_phases(const conv_planes *p) {
    return p->phases[0] ? p->phases[0] * p->phases[1] : 1;
}
static int64_t conv_panel_elements(int64_t terms, int64_t width, int64_t lanes) {
    return CONV_PIECES * width * (terms < CONV_KC ? terms : CONV_KC) + lanes;
}

/* Find the next results of a chunk of `rows` rows. Return false if there are none. */
static bool conv_next_piece(const conv_planes *p, const conv_view *v, int64_t rows, int64_t lanes, conv_cursor *at, conv_piece *piece) {
    int64_t width = GEMM_NV * lanes, columns = v->size[1];
    piece->n = piece->count = 0;
    while (piece->n < width && at->image < p->images) {
        int64_t column = at->column, left = columns - column, room = v->in_place ? lanes : width - piece->n;
        int64_t n = left < room ? left : room;
        at->column += n;
        /* some results are computed twice */
        if (v->in_place && n < lanes && columns >= lanes) column = columns - lanes, n = lanes;
        int64_t y = v->start[0] + (p->first_row + at->row) * v->step[0], x = v->start[1] + column * v->step[1];
        piece->run[piece->count++] = (conv_run){at->image * p->image + at->row * p->width + column, piece->n,
                                                ((p->first_image + at->image) * v->images_apart + y) * v->out_width + x, n};
        piece->n += v->in_place ? lanes : n;
        if (at->column < columns) continue;
        at->column = 0;
        if (++at->row == rows) at->row = 0, at->image++;
    }
    if (piece->count == 0) return false;
    piece->whole = v->step[1] == 1 && piece->n == width;
    for (int i = 0; i < piece->count && piece->whole; i++)
        piece->whole = v->in_place ? piece->run[i].n == lanes : piece->run[i].to == piece->run[0].to + piece->run[i].at;
    return true;
}

#define T float
#define N(name) conv_##name##_f32
#include "sc_conv_direct_tile.inc"
#undef T
#undef N
#define T double
#define N(name) conv_##name##_f64
#include "sc_conv_direct_tile.inc"
#undef T
#undef N

/* ---- plans ---- */

static int64_t conv_common_divisor(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b, b = rest;
    }
    return a;
}

static int64_t conv_aligned(int64_t bytes) {
    return conv_divide_up(bytes, SC_ALIGN) * SC_ALIGN;
}

/* Choose the size of chunks, after phases and width of planes: as many images, or rows, as fit. */
static void conv_cut(conv_plan *plan, int64_t result_rows) {
    conv_planes *p = &plan->planes;
    int64_t item = (int64_t)sc_dtype_size(plan->dtype), row = p->channels * conv_phases(p) * p->width * item;
    int64_t most = CONV_PLANES / (row > 0 ? row : 1) - plan->halo, least = 4 * plan->halo + 4;
    plan->result_rows = result_rows;
    plan->rows = most > least ? most : least;
    if (plan->rows >= result_rows) plan->rows = result_rows;
    else plan->rows = conv_divide_up(result_rows, conv_divide_up(result_rows, plan->rows)); /* chunks of about the same size */
    p->rows = plan->rows + plan->halo;
    plan->chunk_images = plan->rows < result_rows ? 1 : CONV_PLANES / (row * p->rows > 0 ? row * p->rows : 1);
    if (plan->chunk_images < 1) plan->chunk_images = 1;
    if (plan->chunk_images > plan->batch) plan->chunk_images = plan->batch;
    p->image = p->rows * p->width;
    /* a vector may read this far beyond a plane; an odd number of cache lines keeps planes out of the same sets */
    int64_t line = SC_ALIGN / item, end = plan->chunk_images * p->image + SC_VL / item;
    p->plane = (conv_divide_up(end, line) | 1) * line;
}

/* Return the number of chunks of images, groups and rows. */
static int64_t conv_count_chunks(const conv_plan *plan) {
    return conv_divide_up(plan->batch, plan->chunk_images) * (plan->by_rows ? plan->groups : 1) *
           conv_divide_up(plan->result_rows, plan->rows);
}

/* Allocate planes, panels and sums for each worker, offsets of all terms, and `more` bytes for the caller after the
 * offsets. most: the most terms of a view. */
static sc_tensor *conv_allocate(sc_ctx *cx, conv_plan *plan, int64_t filters, int64_t most, int64_t terms, int64_t more) {
    const conv_planes *p = &plan->planes;
    int64_t item = (int64_t)sc_dtype_size(plan->dtype), workers = sc_workers(cx), chunks = conv_count_chunks(plan);
    if (workers > chunks) workers = chunks;
    int64_t sums = most > CONV_KC ? CONV_PIECES * filters : GEMM_MR, width = CONV_WIDTH_BYTES / item;
    plan->planes_bytes = p->phases[0] ? p->channels * conv_phases(p) * p->plane * item : 0;
    plan->apart = conv_aligned(plan->planes_bytes + (conv_panel_elements(most, width, SC_VL / item) + sums * width) * item);
    int64_t bytes = workers * plan->apart + conv_aligned(terms * 8) + more;
    sc_tensor *memory = sc_empty(cx, SC_U8, 1, &bytes);
    if (!memory) return NULL;
    plan->memory = memory->data;
    plan->offsets = (int64_t *)(void *)(plan->memory + workers * plan->apart);
    return memory;
}

/* Return whether a view is read in place rather than collected: if rows are whole vectors, or filters are few. */
static bool conv_in_place(const conv_plan *plan, const conv_view *v) {
    int64_t lanes = SC_VL / (int64_t)sc_dtype_size(plan->dtype), columns = v->size[1];
    if (plan->planes.phases[0] == 0) return v->filters <= GEMM_MR && columns >= lanes; /* channels are far apart */
    return conv_divide_up(columns, lanes) * lanes * v->filters <= columns * (v->filters + CONV_COLLECT);
}

typedef struct conv_job { const conv_plan *plan; const sc_tensor *x, *bias; sc_tensor *out; } conv_job;

static void conv_chunk(const conv_plan *plan, const conv_job *job, char *memory) {
    const conv_planes *p = &plan->planes;
    size_t item = sc_dtype_size(plan->dtype);
    bool plain = p->phases[0] == 0, single = plan->dtype == SC_F32;
    const char *x = job->x->data, *x_end = x + (size_t)job->x->numel * item;
    const char *planes = plain ? x + (size_t)(p->first_image * p->image + p->first_channel * p->plane) * item : memory;
    const char *end = plain ? x_end : planes + plan->planes_bytes;
    void *scratch = memory + plan->planes_bytes;
    const void *bias = job->bias ? job->bias->data : NULL;
    if (!plain) single ? conv_fill_planes_f32(p, (const void *)x, (const void *)x_end, (void *)memory)
                       : conv_fill_planes_f64(p, (const void *)x, (const void *)x_end, (void *)memory);
    for (int64_t i = 0; i < plan->n_views; i++) {
        const conv_view *v = &plan->views[i];
        int64_t left = v->size[0] - p->first_row, rows = left < plan->rows ? left : plan->rows;
        if (rows <= 0 || v->size[1] <= 0) continue;
        if (single) conv_view_f32(plan, v, rows, (const void *)planes, (const void *)end, scratch, bias, job->out->data);
        else conv_view_f64(plan, v, rows, (const void *)planes, (const void *)end, scratch, bias, job->out->data);
    }
}

/* Compute the chunks begin..end - 1, in the worker's own planes. */
static void conv_part(void *arg, int64_t begin, int64_t end, int worker) {
    const conv_job *job = arg;
    conv_plan plan = *job->plan;
    int64_t of_group = conv_divide_up(plan.result_rows, plan.rows), of_image = plan.by_rows ? plan.groups * of_group : of_group;
    for (int64_t i = begin; i < end; i++) {
        conv_planes *p = &plan.planes;
        p->first_image = i / of_image * plan.chunk_images, p->first_row = i % of_group * plan.rows;
        plan.group = i % of_image / of_group;
        p->first_channel = plan.group * p->channels;
        p->images = plan.batch - p->first_image < plan.chunk_images ? plan.batch - p->first_image : plan.chunk_images;
        conv_chunk(&plan, job, plan.memory + worker * plan.apart);
    }
}

static void conv_chunks(sc_ctx *cx, conv_plan *plan, const sc_tensor *x, const sc_tensor *bias, sc_tensor *out) {
    double ns = 0;
    for (int64_t i = 0; i < plan->n_views; i++) {
        conv_view *v = &plan->views[i];
        int64_t pixels = plan->batch * plan->groups * v->size[0] * v->size[1];
        v->in_place = conv_in_place(plan, v);
        ns += gemm_ns(v->filters, pixels > 0 ? pixels : 0, v->terms, sc_dtype_size(plan->dtype));
    }
    conv_job job = {plan, x, bias, out};
    sc_parallel(cx, conv_count_chunks(plan), 1, ns, conv_part, &job);
}

/* Make a plan. step, columns: of the results of a view. Pieces are found once for all groups; plans by rows need
 * none. */
static conv_plan conv_new_plan(const conv_shape *s, int dtype, int64_t batch, int64_t groups, int64_t step, int64_t columns) {
    int64_t terms = s->channels * s->kernel[0] * s->kernel[1], lanes = SC_VL / (int64_t)sc_dtype_size(dtype);
    bool by_rows = s->filters == 1 && terms <= CONV_KC && step == 1 && columns >= lanes;
    return (conv_plan){.planes = {.channels = by_rows ? s->channels : groups * s->channels, .all_channels = groups * s->channels,
                                  .in = {s->in[0], s->in[1]}, .stride = {1, 1}, .dilation = {1, 1}, .phases = {1, 1}},
                       .n_views = 1, .batch = batch, .groups = groups, .by_rows = by_rows, .dtype = dtype};
}

/* Compute a 1 x 1 convolution with stride 1 and no padding, for which the image serves as planes. */
static int conv_pointwise(sc_ctx *cx, const conv_shape *s, int dtype, int64_t groups, const sc_tensor *x, const sc_tensor *w,
                          const sc_tensor *bias, sc_tensor *out) {
    int64_t pixels = s->out[0] * s->out[1], enough = CONV_PIECES * CONV_WIDTH_BYTES / (int64_t)sc_dtype_size(dtype);
    conv_plan plan = conv_new_plan(s, dtype, x->size[0], groups, 1, pixels);
    conv_planes *p = &plan.planes;
    p->phases[0] = p->phases[1] = 0;
    p->rows = 1, p->width = p->plane = pixels, p->image = p->all_channels * pixels;
    plan.rows = plan.result_rows = 1;
    plan.chunk_images = conv_divide_up(enough, pixels);
    if (plan.chunk_images > plan.batch) plan.chunk_images = plan.batch;
    conv_view view = {.terms = s->channels, .filters = s->filters, .size = {1, pixels}, .step = {1, 1}, .filters_apart = pixels,
                      .images_apart = groups * s->filters, .out_width = pixels, .weight = w->data};
    sc_tensor *memory = conv_allocate(cx, &plan, s->filters, s->channels, s->channels, 0);
    if (!memory) return -1;
    plan.views = &view;
    view.offset = plan.offsets;
    for (int64_t c = 0; c < s->channels; c++) view.offset[c] = c * pixels;
    conv_chunks(cx, &plan, x, bias, out);
    sc_release(cx, memory);
    return 0;
}

/* Extend the n offsets of the first channel to all channels, `apart` from one another. Return the end of the
 * offsets. */
static int64_t *conv_repeat_offsets(int64_t *offset, int64_t n, int64_t channels, int64_t apart) {
    for (int64_t c = 1; c < channels; c++)
        for (int64_t t = 0; t < n; t++) offset[c * n + t] = offset[t] + c * apart;
    return offset + n * channels;
}

SC_KERNEL int conv_forward(sc_ctx *cx, const conv_shape *s, int dtype, int64_t groups, const sc_tensor *x, const sc_tensor *w,
                        const sc_tensor *bias, sc_tensor *out) {
    bool same = s->stride[0] * s->stride[1] == 1 && !(s->padding[0] | s->padding[1]);
    if (same && s->kernel[0] * s->kernel[1] == 1) return conv_pointwise(cx, s, dtype, groups, x, w, bias, out);
    conv_plan plan = conv_new_plan(s, dtype, x->size[0], groups, 1, s->out[1]);
    conv_planes *p = &plan.planes;
    int64_t period[2], area = s->kernel[0] * s->kernel[1], terms = s->channels * area;
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
    sc_tensor *memory = conv_allocate(cx, &plan, s->filters, terms, terms, 0);
    if (!memory) return -1;
    plan.views = &view;
    view.offset = plan.offsets;
    for (int64_t y = 0; y < s->kernel[0]; y++)
        for (int64_t z = 0; z < s->kernel[1]; z++)
            view.offset[y * s->kernel[1] + z] = (y % period[0] * p->phases[1] + z % period[1]) * p->plane +
                                                y * s->dilation[0] / s->stride[0] * p->width + z * s->dilation[1] / s->stride[1];
    conv_repeat_offsets(view.offset, area, s->channels, conv_phases(p) * p->plane);
    conv_chunks(cx, &plan, x, bias, out);
    sc_release(cx, memory);
    return 0;
}

/* ---- transposed convolutions: one view for each position modulo the stride, with its own elements of the kernel
 * ---- */

/* Return whether results at r, r + stride, ... of one dim use element k of the kernel, and write the shift to their
 * input to *shift. */
static bool conv_tap(const conv_shape *s, int d, int64_t r, int64_t k, int64_t *shift) {
    int64_t at = r + s->padding[d] - k * s->dilation[d];
    *shift = at / s->stride[d];
    return at % s->stride[d] == 0;
}

/* Assign each element of the kernel to its view. Return the memory of `taps`, which the caller releases, or NULL if
 * memory ends. */
static sc_tensor *conv_find_taps(sc_ctx *cx, const conv_shape *s, conv_taps *taps) {
    int64_t shift, n = 0, area = s->kernel[0] * s->kernel[1];
    taps->views = s->stride[0] * s->stride[1];
    sc_tensor *memory = sc_empty(cx, SC_I64, 1, (int64_t[]){taps->views + 1 + area});
    if (!memory) return NULL;
    taps->first = memory->data;
    taps->element = taps->first + taps->views + 1;
    for (int64_t v = 0; v < taps->views; v++) {
        taps->first[v] = n;
        for (int64_t k = 0; k < area; k++)
            if (conv_tap(s, 0, v / s->stride[1], k / s->kernel[1], &shift) && conv_tap(s, 1, v % s->stride[1], k % s->kernel[1], &shift))
                taps->element[n++] = k;
    }
    taps->first[taps->views] = n;
    return memory;
}

SC_KERNEL sc_tensor *conv_arrange(sc_ctx *cx, const conv_shape *s, int64_t groups, const sc_tensor *w) {
    conv_taps taps;
    sc_tensor *list = conv_find_taps(cx, s, &taps), *out = list ? sc_empty(cx, w->dtype, 1, &w->numel) : NULL;
    if (out && w->dtype == SC_F32) conv_arrange_f32(s, groups, w->data, &taps, out->data);
    else if (out) conv_arrange_f64(s, groups, w->data, &taps, out->data);
    sc_release(cx, list);
    return out;
}

SC_KERNEL int conv_transposed(sc_ctx *cx, const conv_shape *s, int dtype, int64_t groups, const sc_tensor *x, const void *arranged,
                           const sc_tensor *bias, sc_tensor *out) {
    conv_plan plan = conv_new_plan(s, dtype, x->size[0], groups, s->stride[1], s->out[1]);
    conv_planes *p = &plan.planes;
    int64_t low[2], high[2], most[2], shift[2], terms = s->channels * s->kernel[0] * s->kernel[1];
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
    conv_taps taps;
    sc_tensor *list = conv_find_taps(cx, s, &taps), *memory = NULL;
    if (!list) return -1;
    plan.n_views = taps.views;
    memory = conv_allocate(cx, &plan, s->filters, terms, terms, taps.views * (int64_t)sizeof(conv_view));
    if (memory) {
        int64_t *offset = plan.offsets;
        const char *weight = arranged;
        plan.views = (void *)((char *)offset + conv_aligned(terms * 8));
        for (int64_t i = 0; i < taps.views; i++) {
            int64_t ry = i / s->stride[1], rx = i % s->stride[1], n = taps.first[i + 1] - taps.first[i];
            plan.views[i] = (conv_view){.terms = s->channels * n, .filters = s->filters, .start = {ry, rx}, .weight = weight,
                                        .size = {conv_divide_up(s->out[0] - ry, s->stride[0]), conv_divide_up(s->out[1] - rx, s->stride[1])},
                                        .step = {s->stride[0], s->stride[1]}, .filters_apart = s->out[0] * s->out[1],
                                        .images_apart = groups * s->filters * s->out[0], .out_width = s->out[1], .offset = offset};
            for (int64_t t = 0; t < n; t++) {
                int64_t k = taps.element[taps.first[i] + t];
                conv_tap(s, 0, ry, k / s->kernel[1], &shift[0]);
                conv_tap(s, 1, rx, k % s->kernel[1], &shift[1]);
                offset[t] = (shift[0] - low[0]) * p->width + shift[1] - low[1];
            }
            offset = conv_repeat_offsets(offset, n, s->channels, p->plane);
            weight += (size_t)(groups * s->filters * s->channels * n) * sc_dtype_size(dtype);
        }
        conv_chunks(cx, &plan, x, bias, out);
    }
    sc_release(cx, list);
    sc_release(cx, memory);
    return memory ? 0 : -1;
}

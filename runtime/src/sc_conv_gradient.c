/* sc_conv_gradient.c - gradients of the weights of convolutions: of filter f, channel c and element k of the kernel, the sum over
 * all positions p of y[f, p] x[c, p stride + k dilation - padding], where x is 0 outside of its image.
 *
 * Positions come in chunks. A term is a channel and an element of the kernel. If a group has many filters, y is copied to panels
 * [positions][filters], and the sums of some terms by some vectors of filters stay in registers for a chunk. x is copied to padded
 * planes, or read in place if there is no padding. If a group has few filters, the sums are dot products of rows instead. The
 * order of the additions does not depend on the number of threads, which divide filters, channels and groups. */
#include "sc_conv_gradient.h"

#include "../include/sc_element.h"
#include "sc_gemm.h"
#include "sc_image.h"

enum {
    GRADIENT_POSITIONS = 256,         /* of a chunk: panels of one width stay in the first two caches */
    GRADIENT_DOT_POSITIONS = 4096,    /* of a chunk of dot products */
    GRADIENT_MOST_POSITIONS = 1 << 12, /* of a chunk of kernels that reach far */
    GRADIENT_PLANES = 1 << 17,        /* bytes of the planes of some channels */
    GRADIENT_FILTERS = 256,           /* for which planes are copied once */
    GRADIENT_TERMS = 6,               /* of a tile */
};

typedef struct gradient_strides { int64_t image, channel, row, column; } gradient_strides; /* in elements */

/* The plan of a gradient. x, y: where their elements are, and end. planes: strides of the planes of x, or of x itself if it is read in place.
 * phases: parts of a row of a plane, of the columns that are equal modulo the stride. */
typedef struct gradient_plan {
    conv_shape s;
    int64_t batch, groups, terms;
    const void *x, *y, *x_end, *y_end;
    gradient_strides at_x, at_y, planes;
    bool in_place, dots;
    int64_t images, rows, columns;                 /* of a chunk */
    int64_t filters, channels, filter_parts, channel_parts; /* of a piece of work; their number in a group */
    int64_t block, phases, phase_width, pitch;     /* channels of the planes; of dot products: between rows of y */
    int64_t y_elements, scratch_elements, *offsets;
    void *scratch, *sums, *out;
} gradient_plan;

/* A chunk: positions of y. image, row: from one to the next in planes. */
typedef struct gradient_chunk {
    int64_t first_image, first_row, first_column, images, rows, columns, image, row;
} gradient_chunk;

/* Find chunk i. Return false if there is none. */
static bool gradient_chunk_at(const gradient_plan *p, int64_t i, gradient_chunk *c) {
    const conv_shape *s = &p->s;
    int64_t across = (s->out[1] + p->columns - 1) / p->columns, down = (s->out[0] + p->rows - 1) / p->rows;
    c->first_column = i % across * p->columns, c->first_row = i / across % down * p->rows;
    c->first_image = i / across / down * p->images;
    if (c->first_image >= p->batch) return false;
    c->images = p->batch - c->first_image < p->images ? p->batch - c->first_image : p->images;
    c->rows = s->out[0] - c->first_row < p->rows ? s->out[0] - c->first_row : p->rows;
    c->columns = s->out[1] - c->first_column < p->columns ? s->out[1] - c->first_column : p->columns;
    c->image = p->planes.image, c->row = s->stride[0] * p->planes.row;
    return true;
}

#define T float
#define I int32_t
#define N(name) gradient_##name##_f32
#include "sc_conv_gradient_tile.inc"
#undef T
#undef I
#undef N
#define T double
#define I int64_t
#define N(name) gradient_##name##_f64
#include "sc_conv_gradient_tile.inc"
#undef T
#undef I
#undef N

static int64_t gradient_divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t gradient_least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Return the rows, or columns, of x that so many of y reach. */
static int64_t gradient_span(const conv_shape *s, int d, int64_t count) {
    return (count - 1) * s->stride[d] + (s->kernel[d] - 1) * s->dilation[d] + 1;
}

/* Choose the positions of a chunk: whole images, or whole rows of one, or a part of a row. */
static void gradient_cut(gradient_plan *p) {
    const conv_shape *s = &p->s;
    int64_t most = p->dots ? GRADIENT_DOT_POSITIONS : GRADIENT_POSITIONS, reach = (s->kernel[1] - 1) * s->dilation[1];
    if (most < 2 * reach) most = gradient_least(2 * reach, GRADIENT_MOST_POSITIONS);
    p->columns = gradient_divide_up(s->out[1], gradient_divide_up(s->out[1], most));
    int64_t rows = most / p->columns > 0 ? most / p->columns : 1;
    p->rows = gradient_divide_up(s->out[0], gradient_divide_up(s->out[0], rows));
    int64_t images = most / (p->columns * p->rows) > 0 ? most / (p->columns * p->rows) : 1;
    p->images = p->columns == s->out[1] && p->rows == s->out[0] ? gradient_least(images, p->batch) : 1;
}

/* Choose the layout of planes: that of x, with zeros around. item: bytes of an element. */
static void gradient_lay_out(gradient_plan *p, int64_t item) {
    const conv_shape *s = &p->s;
    int64_t lanes = SC_VL / item, line = SC_ALIGN / item, rows = gradient_span(s, 0, p->rows);
    int64_t columns = gradient_span(s, 1, p->columns);
    bool padded = s->padding[0] || s->padding[1];
    p->in_place = !p->dots && !padded, p->phases = 1, p->phase_width = columns;
    if (p->in_place) {
        p->planes = p->at_x, p->block = s->channels;
        return;
    }
    if (p->dots) {
        p->phases = gradient_least(s->stride[1], (s->kernel[1] - 1) * s->dilation[1] + 1);
        p->phase_width = p->columns + (s->kernel[1] - 1) * s->dilation[1] / s->stride[1];
    }
    int64_t of_row = p->phases * p->phase_width, area = p->images * rows * of_row + lanes;
    p->block = GRADIENT_PLANES / item / area;
    p->block = p->block < 2 ? gradient_least(2, s->channels) : gradient_least(p->block / 2 * 2, s->channels);
    if (p->dots) p->block = 1;
    if (p->at_x.column == 1 || p->dots) /* an odd number of cache lines keeps planes out of the same sets */
        p->planes = (gradient_strides){rows * of_row, (gradient_divide_up(area, line) | 1) * line, of_row, 1};
    else p->planes = (gradient_strides){rows * of_row * p->block, 1, of_row * p->block, p->block};
}

/* Find where the terms of a block of channels lie, from the first element of a position on. */
static void gradient_find_offsets(const gradient_plan *p) {
    const conv_shape *s = &p->s;
    int64_t *offset = p->offsets;
    for (int64_t c = 0; c < p->block; c++)
        for (int64_t k = 0; k < s->kernel[0] * s->kernel[1]; k++) {
            int64_t row = k / s->kernel[1] * s->dilation[0], column = k % s->kernel[1] * s->dilation[1];
            int64_t in_row = p->dots ? column % s->stride[1] * p->phase_width + column / s->stride[1] : column * p->planes.column;
            *offset++ = c * p->planes.channel + row * p->planes.row + in_row;
        }
}

/* Divide the work into pieces: many filters share the copies of planes, but there are enough pieces for all workers. */
static void gradient_divide(gradient_plan *p, int64_t lanes, int64_t workers) {
    const conv_shape *s = &p->s;
    int64_t wanted = workers == 1 ? 1 : gradient_divide_up(4 * workers, p->groups);
    p->filters = gradient_least(s->filters, GRADIENT_FILTERS), p->channels = s->channels;
    p->filter_parts = p->channel_parts = 1;
    if (p->dots) return;
    int64_t width = GEMM_NV * lanes;
    if (workers > 1 && p->filters > width) p->filters = width;
    p->filter_parts = gradient_divide_up(s->filters, p->filters);
    if (p->filter_parts < wanted) {
        p->channels = gradient_divide_up(s->channels, gradient_divide_up(wanted, p->filter_parts));
        p->channel_parts = gradient_divide_up(s->channels, p->channels);
    }
}

static void gradient_part(void *arg, int64_t begin, int64_t end, int worker) {
    const gradient_plan *p = arg;
    for (int64_t i = begin; i < end; i++)
        if (((const sc_tensor *)p->out)->dtype == SC_F32) gradient_piece_f32(p, i, worker);
        else gradient_piece_f64(p, i, worker);
}

static gradient_strides gradient_strides_of(const sc_tensor *t) {
    return (gradient_strides){t->stride[0], t->stride[1], t->stride[2], t->stride[3]};
}

static const void *gradient_end(const sc_tensor *t) {
    int64_t last = 0;
    for (int d = 0; d < t->rank; d++) last += (t->size[d] - 1) * t->stride[d];
    return (const char *)t->data + (last + 1) * (int64_t)sc_dtype_size(t->dtype);
}

/* Return the images in strides that the kernels take: columns side by side, or, unless `planar`, channels. */
static sc_tensor *gradient_prepared(sc_ctx *cx, const sc_tensor *t, bool planar) {
    if (t->stride[3] == 1 || (!planar && t->stride[1] == 1)) return sc_alias(cx, t);
    return sc_contiguous(cx, (sc_tensor *)t);
}

SC_KERNEL int conv_weight_gradient(sc_ctx *cx, const conv_shape *s, int64_t groups, const sc_tensor *x, const sc_tensor *y,
                                   sc_tensor *out) {
    int64_t item = (int64_t)sc_dtype_size(out->dtype), lanes = SC_VL / item, area = s->kernel[0] * s->kernel[1];
    gradient_plan p = {.s = *s, .batch = x->size[0], .groups = groups, .terms = s->channels * area, .out = out};
    p.dots = 2 * s->filters < lanes || lanes == 1;
    sc_tensor *in = gradient_prepared(cx, x, p.dots), *of = in ? gradient_prepared(cx, y, p.dots) : NULL, *memory = NULL;
    if (of) {
        p.x_end = gradient_end(in), p.y_end = gradient_end(of);
        p.x = in->data, p.y = of->data, p.at_x = gradient_strides_of(in), p.at_y = gradient_strides_of(of);
        gradient_cut(&p);
        gradient_lay_out(&p, item);
        gradient_divide(&p, lanes, sc_workers(cx));
        int64_t pieces = groups * p.filter_parts * p.channel_parts, workers = gradient_least(sc_workers(cx), pieces);
        int64_t padded = gradient_divide_up(s->filters, lanes) * lanes, positions = p.images * p.rows * p.columns;
        p.pitch = gradient_divide_up(p.columns, lanes) * lanes;
        p.y_elements = p.dots ? s->filters * p.images * p.rows * p.pitch
                              : positions * gradient_divide_up(gradient_least(p.filters, padded), lanes) * lanes;
        int64_t of_planes = p.in_place ? 0 : p.planes.channel == 1 ? p.images * p.planes.image : p.block * p.planes.channel;
        p.scratch_elements = gradient_divide_up(p.y_elements + of_planes + lanes, SC_ALIGN / item) * (SC_ALIGN / item);
        int64_t sums = p.dots ? 0 : groups * padded * p.terms;
        int64_t bytes = (workers * p.scratch_elements + sums) * item + p.block * area * 8;
        memory = sc_empty(cx, SC_U8, 1, &bytes);
        if (memory) {
            p.scratch = memory->data;
            p.sums = (char *)p.scratch + workers * p.scratch_elements * item;
            p.offsets = (int64_t *)(void *)((char *)p.sums + sums * item);
            gradient_find_offsets(&p);
            double ns = gemm_ns(groups * s->filters, p.terms, p.batch * s->out[0] * s->out[1], (size_t)item);
            sc_parallel(cx, pieces, 1, ns, gradient_part, &p);
        }
    }
    sc_release(cx, in);
    sc_release(cx, of);
    sc_release(cx, memory);
    return memory ? 0 : -1;
}

/* sc_conv_packed.c - convolutions of float images with packed weights, in channels-last or plain strides.
 *
 * A chunk of the input is copied to a scratch in blocks of channels, zeros around it, so that the pixels of neighboring results
 * are neighbors: [channels / 16][rows][phases][columns][16], where the columns of a phase are a stride apart. Images of fewer
 * channels than a block are copied to planes, whose block is 1. 1 x 1 convolutions read channels-last images in place, unless
 * all pixels would take the same lines of the first cache. A tile of results, some pixels by some blocks of filters, stays in
 * registers while all terms, one for each block of channels and element of the kernel, are added. */
#include "sc_conv_packed.h"

#include "../include/sc_team.h"
#include "sc_conv_tile.h"
#include "sc_gemm.h"
#include "sc_image.h"

enum {
    PACKED_SCRATCH_BYTES = 1 << 18,   /* of a chunk, beside weights in the second cache */
    PACKED_POINTWISE_BYTES = 1 << 16, /* of 1 x 1 convolutions, so that results stay in the second cache for all filters */
    PACKED_KEPT_BYTES = 1 << 20,      /* of their weights; more come from the third cache for each chunk */
    PACKED_SAME_SET = 1 << 12,        /* bytes, of which multiples fall into the same few lines of the first cache */
};

/* ---- packed weights: a bias for each filter of each block, then panels [blocks][terms' channels][width] ---- */

/* Return whether the last block of filters is a half block: where it would be at most half full. */
static bool packed_ends_with_half(int64_t filters) {
    return filters > PACKED_BLOCK && (filters - 1) % PACKED_BLOCK < PACKED_HALF;
}
/* Return the filters of a block: a whole one, whose bias and panel are padded, or half a one. */
static int64_t packed_width_of_block(int64_t filters, int64_t block) {
    return packed_ends_with_half(filters) && (block + 1) * PACKED_BLOCK > filters ? PACKED_HALF : PACKED_BLOCK;
}
/* Return the first filter of a block. A half block that would not be full shares some with the block before. */
static int64_t packed_first_of_block(int64_t filters, int64_t block) {
    int64_t width = packed_width_of_block(filters, block);
    return width == PACKED_BLOCK ? packed_first_filter(filters, block) : filters - width;
}

static int64_t packed_panel_rows(const sc_conv *c) {
    int64_t block = packed_block_of(c->channels), whole = c->channels / block;
    return (whole * block + packed_channels_of_block(c->channels, whole)) * c->kernel[0] * c->kernel[1];
}
static void packed_pack_dense(const sc_conv *c, const float *weight, float *to) {
    int64_t area = c->kernel[0] * c->kernel[1], block = packed_block_of(c->channels);
    for (int64_t b = 0; b < packed_divide_up(c->filters, PACKED_BLOCK); b++) {
        int64_t first = packed_first_of_block(c->filters, b), width = packed_width_of_block(c->filters, b);
        for (int64_t i = 0, n; (n = packed_channels_of_block(c->channels, i)) > 0; i++)
            for (int64_t k = 0; k < area; k++)
                for (int64_t j = 0; j < n; j++)
                    for (int64_t f = first; f < first + width; f++) {
                        int64_t channel = i * block + j;
                        bool there = f < c->filters && channel < c->channels;
                        *to++ = there ? weight[(f * c->channels + channel) * area + k] : 0;
                    }
    }
}

SC_KERNEL int64_t sc_conv_packed_floats(const sc_conv *c, bool depthwise) {
    int64_t padded = packed_divide_up(c->filters, PACKED_BLOCK) * PACKED_BLOCK;
    int64_t filters = packed_ends_with_half(c->filters) ? padded - PACKED_HALF : padded;
    return padded + (depthwise ? c->filters * c->kernel[0] * c->kernel[1] : filters * packed_panel_rows(c));
}

SC_KERNEL void sc_conv_pack(const sc_conv *c, bool depthwise, const float *weight, const float *bias, float *to) {
    int64_t padded = packed_divide_up(c->filters, PACKED_BLOCK) * PACKED_BLOCK, area = c->kernel[0] * c->kernel[1];
    for (int64_t b = 0; b < padded / PACKED_BLOCK; b++)
        for (int64_t i = 0; i < PACKED_BLOCK; i++) {
            int64_t f = (depthwise ? b * PACKED_BLOCK : packed_first_of_block(c->filters, b)) + i;
            *to++ = bias && f < c->filters ? bias[f] : 0;
        }
    if (!depthwise) packed_pack_dense(c, weight, to);
    else
        for (int64_t k = 0; k < area; k++)
            for (int64_t f = 0; f < c->filters; f++) *to++ = weight[f * area + k];
}

/* ---- chunks ---- */

typedef struct packed_plan {
    const sc_conv *c;
    sc_conv_images in, out, add;     /* of the whole batch; add.data is NULL if there is nothing to add */
    const float *packed;
    int64_t block, channel_blocks, rows, columns, row_chunks, column_chunks, filter_parts, filter_blocks;
    bool in_place;                   /* the image is not copied */
    int64_t phases, before, width, row, plane; /* of the scratch: floats of a row, and of a block of channels */
    int64_t *offsets, scratch_floats;
    float *scratch;
    int64_t *scaled_for, scaled_floats; /* of each worker: the image, plus 1, whose scales its copy of the weights has, if any */
    float *scaled;
    packed_walk walk;
} packed_plan;

/* Return whether a row of a chunk's input, counted from its first, is read. */
static bool packed_is_read(const sc_conv *c, int64_t row) {
    for (int64_t k = 0; k < c->kernel[0]; k++)
        if (row >= k * c->dilation[0] && (row - k * c->dilation[0]) % c->stride[0] == 0) return true;
    return false;
}

/* Copy n pixels of a plane that are `pixel` apart. */
static void packed_copy_plane(int64_t n, const float *restrict from, int64_t pixel, float *restrict to) {
    if (pixel == 1) memcpy(to, from, (size_t)n * 4);
    else if (pixel == 2)
        for (int64_t i = 0; i < n; i++) to[i] = from[2 * i];
    else
        for (int64_t i = 0; i < n; i++) to[i] = from[i * pixel];
}

/* Copy n pixels of a block, of which `there` channels exist, to the scratch; others are zero. */
static void packed_copy_pixels(int64_t block, int64_t there, int64_t n, const float *from, int64_t pixel, int64_t channel,
                               float *to) {
    if (block == 1) {
        packed_copy_plane(n, from, pixel, to);
        return;
    }
    if (block == PACKED_BLOCK && channel == 1 && there == PACKED_BLOCK) {
        for (int64_t i = 0; i < n; i++, from += pixel, to += PACKED_BLOCK)
            for (int v = 0; v < PACKED_NV; v++) packed_store(to + v * PACKED_LANES, packed_load(from + v * PACKED_LANES));
        return;
    }
    if (block == PACKED_BLOCK && there < PACKED_BLOCK) memset(to, 0, (size_t)(n * PACKED_BLOCK) * 4);
    if (channel == 1)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < there; j++) to[i * block + j] = from[i * pixel + j];
    else
        for (int64_t j = 0; j < there; j++)
            for (int64_t i = 0; i < n; i++) to[i * block + j] = from[i * pixel + j * channel];
}

/* Copy n pixels of block b as packed_copy_pixels does, and apply the prologue to them. */
static void packed_copy_mapped(const packed_plan *p, int64_t image, int64_t b, int64_t there, int64_t n, const float *from,
                               int64_t pixel, float *to) {
    const sc_conv_prologue *f = p->c->prologue;
    const float *scale = f->scale + image * f->image + b * p->block, *shift = f->shift ? f->shift + b * p->block : NULL;
    if (p->block == PACKED_BLOCK && p->in.channel == 1 && there == PACKED_BLOCK) {
        packed_vec s[PACKED_NV], t[PACKED_NV];
        for (int v = 0; v < PACKED_NV; v++) {
            s[v] = packed_load(scale + v * PACKED_LANES);
            t[v] = shift ? packed_load(shift + v * PACKED_LANES) : (packed_vec){0};
        }
        for (int64_t i = 0; i < n; i++, from += pixel, to += PACKED_BLOCK)
            for (int v = 0; v < PACKED_NV; v++) {
                packed_vec x = packed_load(from + v * PACKED_LANES) * s[v] + t[v];
                packed_store(to + v * PACKED_LANES, packed_clamp(x, f->low, f->high));
            }
        return;
    }
    packed_copy_pixels(p->block, there, n, from, pixel, p->in.channel, to);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < there; j++) {
            float x = to[i * p->block + j] * scale[j] + (shift ? shift[j] : 0);
            to[i * p->block + j] = x < f->low ? f->low : x > f->high ? f->high : x;
        }
}

/* Return weights that are multiplied by the scales of an image, which costs less than to multiply the image if it has more pixels
 * than there are filters. */
static const float *packed_scaled_weights(const packed_plan *p, int64_t image, int worker) {
    const sc_conv *c = p->c;
    const float *from = p->packed + packed_divide_up(c->filters, PACKED_BLOCK) * PACKED_BLOCK;
    const float *scale = c->prologue->scale + image * c->prologue->image;
    float *scaled = p->scaled + worker * p->scaled_floats, *to = scaled;
    if (p->scaled_for[worker] == image + 1) return scaled;
    p->scaled_for[worker] = image + 1;
    for (int64_t b = 0; b < p->filter_blocks; b++) {
        int64_t width = packed_width_of_block(c->filters, b);
        for (int64_t k = 0; k < c->channels; k++, from += width, to += width) {
            float s = scale[k];
            if (width == PACKED_BLOCK)
                for (int v = 0; v < PACKED_NV; v++) packed_store(to + v * PACKED_LANES, packed_load(from + v * PACKED_LANES) * s);
            else
                for (int64_t i = 0; i < width; i++) to[i] = from[i] * s;
        }
    }
    return scaled;
}

/* Copy the input of the results at `row` and `column` on, so many rows and columns, to the scratch. */
static void packed_fill_scratch(const packed_plan *p, int64_t at, int64_t row, int64_t column, int64_t rows, int64_t columns,
                                float *to) {
    const sc_conv *c = p->c;
    const float *image = p->in.data + at * p->in.image;
    int64_t first_row = row * c->stride[0] - c->padding[0];
    int64_t span = (rows - 1) * c->stride[0] + (c->kernel[0] - 1) * c->dilation[0] + 1;
    int64_t width = columns + p->width - p->columns;
    for (int64_t b = 0; b < p->channel_blocks; b++) {
        int64_t left = c->channels - b * p->block, there = left < p->block ? left : p->block;
        for (int64_t r = 0; r < span; r++) {
            int64_t y = first_row + r;
            float *line = to + b * p->plane + r * p->row;
            if (!packed_is_read(c, r)) continue;
            for (int64_t phase = 0; phase < p->phases; phase++, line += p->width * p->block) {
                int64_t from, end, offset = phase + (column + p->before) * c->stride[1];
                image_valid(c->in[1], width, c->stride[1], offset, &from, &end);
                if (y < 0 || y >= c->in[0]) from = end = 0;
                memset(line, 0, (size_t)(from * p->block) * 4);
                if (end > from) {
                    int64_t first = y * p->in.row + (from * c->stride[1] + offset) * p->in.column;
                    const float *pixels = image + b * p->block * p->in.channel + first;
                    int64_t n = end - from, pixel = c->stride[1] * p->in.column;
                    if (c->prologue) packed_copy_mapped(p, at, b, there, n, pixels, pixel, line + from * p->block);
                    else packed_copy_pixels(p->block, there, n, pixels, pixel, p->in.channel, line + from * p->block);
                }
                memset(line + end * p->block, 0, (size_t)((width - end) * p->block) * 4);
            }
        }
    }
}

/* Ask for the pixels from..end-1 of a line of an image that is read in place. */
SC_INLINE void packed_ask_for_pixels(const packed_plan *p, const float *line, int64_t from, int64_t end) {
    for (int64_t x = from; x < end; x++)
        for (int64_t c = 0; c < p->c->channels; c += PACKED_BLOCK) __builtin_prefetch(line + x * p->in.column + c);
}

/* Compute the blocks of filters begin..end-1 of a chunk, whose first pixel is at `from`: in the scratch, or in the image. */
static void packed_compute_chunk(const packed_plan *p, int64_t image, int64_t row, int64_t column, int64_t rows, int64_t columns,
                                 int64_t begin, int64_t end, const float *from, const float *weights) {
    const sc_conv *c = p->c;
    int64_t block = p->in_place ? PACKED_IN_PLACE : p->block, pixel = p->in_place ? p->in.column : p->block;
    int64_t whole = end - (packed_width_of_block(c->filters, end - 1) != PACKED_BLOCK);
    const packed_kind *kind;
    for (int64_t b = begin; b < end; b += kind->blocks) {
        kind = sc_conv_choose_tile(block, whole - b, columns);
        int64_t f = packed_first_of_block(c->filters, b), px = kind->pixels, width = packed_width_of_block(c->filters, b);
        int64_t last = packed_first_of_block(c->filters, b + kind->blocks - 1), n = c->filters < width ? c->filters : width;
        const float *bias = p->packed + b * PACKED_BLOCK, *w = weights + b * p->walk.panel;
        const float *next = w + kind->blocks * p->walk.panel;
        int64_t asked = 0, most = b + kind->blocks < end ? kind->blocks * p->walk.panel : 0; /* floats of the next panels */
        packed_target t = {NULL, NULL, p->out.column, p->out.channel, p->add.column, p->add.channel, last - f, n};
        for (int64_t r = 0; r < rows; r++) {
            const float *line = from + r * c->stride[0] * p->row, *add = packed_at(&p->add, image, row + r, column, f);
            float *out = packed_at(&p->out, image, row + r, column, f);
            for (int64_t x = 0; x < columns; x += px) {
                if (x + px > columns) x = columns - px; /* some pixels are computed twice */
                if (p->in_place && b == begin)
                    packed_ask_for_pixels(p, line, x + px, x + 2 * px < columns ? x + 2 * px : columns);
                t.out = out + x * t.pixel;
                if (add) t.add = add + x * t.add_pixel;
                kind->compute(&p->walk, line + x * pixel, bias, w, asked < most ? next + asked : w, &t);
                asked += most / PACKED_SOON;
            }
        }
    }
}

/* Return the first block of filters of a part. The last block, if it shares filters with the one before, is in the same part. */
static int64_t packed_first_block(const packed_plan *p, int64_t part) {
    int64_t shared = p->filter_blocks > 1 && p->c->filters % PACKED_BLOCK != 0;
    return part == p->filter_parts ? p->filter_blocks : part * (p->filter_blocks - shared) / p->filter_parts;
}

/* Apply the activation to the filters of the blocks begin..end-1 of a chunk. */
static void packed_activate_chunk(const packed_plan *p, int64_t image, int64_t row, int64_t column, int64_t rows,
                                  int64_t columns, int64_t begin, int64_t end) {
    int64_t first = begin * PACKED_BLOCK, stop = end * PACKED_BLOCK < p->c->filters ? end * PACKED_BLOCK : p->c->filters;
    for (int64_t r = row; r < row + rows; r++)
        packed_activate(p->c->activation, packed_at(&p->out, image, r, column, first), p->out.column, columns, stop - first);
}

static void packed_compute_part(void *arg, int64_t begin, int64_t end, int worker) {
    const packed_plan *p = arg;
    const sc_conv *c = p->c;
    float *scratch = p->scratch + worker * p->scratch_floats;
    const float *weights = p->packed + packed_divide_up(c->filters, PACKED_BLOCK) * PACKED_BLOCK;
    for (int64_t i = begin; i < end; i++) {
        int64_t part = i % p->filter_parts, at = i / p->filter_parts;
        int64_t column = at % p->column_chunks * p->columns, row = at / p->column_chunks % p->row_chunks * p->rows;
        int64_t image = at / p->column_chunks / p->row_chunks;
        int64_t rows = c->out[0] - row < p->rows ? c->out[0] - row : p->rows;
        int64_t columns = c->out[1] - column < p->columns ? c->out[1] - column : p->columns;
        const float *in = p->in.data + image * p->in.image;
        if (!p->in_place) packed_fill_scratch(p, image, row, column, rows, columns, scratch);
        else if (c->prologue) weights = packed_scaled_weights(p, image, worker);
        int64_t first = packed_first_block(p, part), stop = packed_first_block(p, part + 1);
        const float *from = p->in_place ? in + column * p->in.column : scratch;
        packed_compute_chunk(p, image, row, column, rows, columns, first, stop, from, weights);
        if (c->activation && p->out.channel == 1) packed_activate_chunk(p, image, row, column, rows, columns, first, stop);
    }
}

/* See 1 x 1 convolutions as those of one row, which leaves fewer tiles that are not full. Return whether that is possible. */
static bool packed_flatten(sc_conv *c, sc_conv_images *in, sc_conv_images *out, sc_conv_images *add) {
    for (int i = 0; i < 2; i++)
        if (c->kernel[i] != 1 || c->stride[i] != 1 || c->padding[i] != 0) return false;
    if (in->row != c->in[1] * in->column || out->row != c->out[1] * out->column) return false;
    if (add->data && add->row != c->out[1] * add->column) return false;
    c->in[1] *= c->in[0], c->out[1] *= c->out[0];
    c->in[0] = c->out[0] = 1;
    return true;
}

/* Choose the size of chunks: whole rows, as many as fit, if not too wide. */
static void packed_cut(packed_plan *p, int64_t workers) {
    const sc_conv *c = p->c;
    int64_t extent[2], low = INT64_MAX, high = INT64_MIN;
    bool small = c->kernel[0] * c->kernel[1] == 1 && c->filters * c->channels * 4 <= PACKED_KEPT_BYTES;
    int64_t floats = (small ? PACKED_POINTWISE_BYTES : PACKED_SCRATCH_BYTES) / 4;
    for (int i = 0; i < 2; i++) extent[i] = (c->kernel[i] - 1) * c->dilation[i];
    p->phases = 1;
    for (int64_t k = 0; k < c->kernel[1]; k++) {
        int64_t at = k * c->dilation[1] - c->padding[1], column = packed_floor_divide(at, c->stride[1]);
        low = column < low ? column : low, high = column > high ? column : high;
        if (at - column * c->stride[1] >= p->phases) p->phases = at - column * c->stride[1] + 1;
    }
    p->before = low;
    int64_t pixel = p->block * p->channel_blocks * p->phases, lead = high - low;
    int64_t most = floats / (pixel * (extent[0] + 1)) - lead, tile_columns = PACKED_MOST_PIXELS * 2;
    if (most < tile_columns) most = tile_columns;
    p->columns = packed_divide_up(c->out[1], packed_divide_up(c->out[1], most));
    if (p->columns < c->out[1]) p->columns = packed_divide_up(p->columns, tile_columns) * tile_columns;
    p->width = p->columns + lead;
    int64_t fit = (floats / (pixel * p->width) - extent[0] - 1) / c->stride[0] + 1;
    p->rows = fit < 1 ? 1 : fit < c->out[0] ? fit : c->out[0];
    p->rows = packed_divide_up(c->out[0], packed_divide_up(c->out[0], p->rows));
    p->row = p->phases * p->width * p->block;
    p->plane = ((p->rows - 1) * c->stride[0] + extent[0] + 1) * p->row;
    p->scratch_floats = packed_divide_up(p->plane * p->channel_blocks, PACKED_BLOCK) * PACKED_BLOCK;
    p->row_chunks = packed_divide_up(c->out[0], p->rows), p->column_chunks = packed_divide_up(c->out[1], p->columns);
    p->filter_blocks = packed_divide_up(c->filters, PACKED_BLOCK);
    int64_t chunks = c->images * p->row_chunks * p->column_chunks;
    int64_t pieces = (c->prologue ? 1 : 4) * workers; /* each part of the filters applies the prologue anew */
    p->filter_parts = chunks >= pieces ? 1 : packed_divide_up(pieces, chunks);
    if (workers == 1) p->filter_parts = 1;
    if (p->filter_parts > p->filter_blocks) p->filter_parts = p->filter_blocks;
}

/* Find where the terms of a result lie, from its first pixel on: in the scratch, or in the image. */
static void packed_find_offsets(const packed_plan *p) {
    const sc_conv *c = p->c;
    int64_t *offset = p->offsets;
    for (int64_t b = 0; b < p->channel_blocks; b++)
        for (int64_t k = 0; k < c->kernel[0] * c->kernel[1]; k++) {
            int64_t at = k % c->kernel[1] * c->dilation[1] - c->padding[1], column = packed_floor_divide(at, c->stride[1]);
            int64_t in_row = (at - column * c->stride[1]) * p->width + column - p->before; /* pixels */
            *offset++ = b * p->plane + k / c->kernel[1] * c->dilation[0] * p->row + in_row * p->block;
        }
}

SC_KERNEL int sc_conv_packed_run(sc_ctx *cx, const sc_conv *conv, sc_conv_images in, sc_conv_images out, sc_conv_images add,
                                 const float *packed) {
    sc_conv c = *conv;
    bool flat = packed_flatten(&c, &in, &out, &add);
    int64_t area = c.kernel[0] * c.kernel[1], block = packed_block_of(c.channels), blocks = packed_divide_up(c.channels, block);
    packed_plan p = {.c = &c, .in = in, .out = out, .add = add, .packed = packed, .block = block, .channel_blocks = blocks};
    packed_cut(&p, sc_workers(cx));
    bool scales = c.prologue && c.prologue->may_scale_weights && c.filters * sc_workers(cx) <= c.out[1] * p.filter_parts;
    p.in_place = flat && in.channel == 1 && block == PACKED_BLOCK && c.channels % PACKED_UNROLL == 0 &&
                 in.column * 4 % PACKED_SAME_SET != 0 && (!c.prologue || scales);
    if (p.in_place) p.plane = PACKED_BLOCK, p.scratch_floats = 0;
    int64_t chunks = c.images * p.row_chunks * p.column_chunks * p.filter_parts;
    int64_t workers = sc_workers(cx) < chunks ? sc_workers(cx) : chunks;
    if (p.in_place && c.prologue) p.scaled_floats = sc_conv_packed_floats(&c, false);
    int64_t bytes = workers * ((p.scratch_floats + p.scaled_floats) * 4 + 8) + blocks * area * 8;
    sc_tensor *memory = sc_empty(cx, SC_U8, 1, &bytes);
    if (!memory) return -1;
    p.scratch = memory->data;
    p.scaled = p.scratch + workers * p.scratch_floats;
    p.scaled_for = (int64_t *)(void *)(p.scaled + workers * p.scaled_floats);
    memset(p.scaled_for, 0, (size_t)workers * 8);
    p.offsets = p.scaled_for + workers;
    packed_find_offsets(&p);
    int64_t rest = packed_channels_of_block(c.channels, c.channels / block), panel = packed_panel_rows(&c) * PACKED_BLOCK;
    p.walk = (packed_walk){.offset = p.offsets, .terms = blocks * area, .whole = c.channels / block * area, .rest = rest,
                           .run = PACKED_RUN / block, .panel = panel, .pixel = in.column, .low = c.low, .high = c.high};
    sc_parallel(cx, chunks, 1, gemm_ns(c.filters, c.images * c.out[0] * c.out[1], c.channels * area, 4), packed_compute_part, &p);
    sc_release(cx, memory);
    return 0;
}

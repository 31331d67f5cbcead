/* sc_integers_product.c - products of tensors of 16-bit integers, whose sums wrap at 32 bits (ir/ops/integers.py). sc_integers.h says
 * how they are computed. */
#include "sc_image.h"
#include "sc_integers.h"
#include "../include/sc_team.h"
#if defined __SSE2__
#include <immintrin.h>
#endif

enum { INTEGERS_CHUNK = 48 }; /* rows of a piece of work */

/* block: groups from block to block of x; row: groups from row to row of w. */
typedef struct integers_operands { int64_t groups, block, row; const int64_t *offset; } integers_operands;
typedef void integers_tile(const integers_operands *s, int rows, int blocks, const integers_group *x, const integers_group *w,
                           int32_t *to);

#define INTEGERS_UNROLL _Pragma("GCC unroll 16") /* so that sums stay in registers */
#if defined __AVX512BW__ && !defined SC_PORTABLE
enum { ROWS_OF_TILE = 6, BLOCKS_OF_TILE = 4, INTEGERS_LINE = BLOCKS_OF_TILE * INTEGERS_BLOCK };
typedef uint32_t integers_v16 __attribute__((vector_size(64), aligned(4), may_alias));
#define ROWS 6
#define BLOCKS 4
#define VEC integers_v16
#define LANES 16
#define SPREAD(group) ((VEC)_mm512_set1_epi32(group))
#define TARGET __attribute__((target("avx512vnni")))
#define N(name) integers_##name##_quads
#define MADD(sum, a, b) ((VEC)_mm512_dpbusd_epi32((__m512i)(sum), (__m512i)(a), (__m512i)(b)))
#include "sc_integers_tile.inc"
#undef N
#undef MADD
#define N(name) integers_##name##_fused_pairs
#define MADD(sum, a, b) ((VEC)_mm512_dpwssd_epi32((__m512i)(sum), (__m512i)(a), (__m512i)(b)))
#include "sc_integers_tile.inc"
#undef N
#undef MADD
#undef TARGET
#ifndef __AVX512VNNI__
#define TARGET
#define N(name) integers_##name##_pairs
#define MADD(sum, a, b) ((sum) + (VEC)_mm512_madd_epi16((__m512i)(a), (__m512i)(b)))
#include "sc_integers_tile.inc"
#else
#define integers_tile_pairs integers_tile_fused_pairs
#endif
static integers_tile *integers_best_tile(bool bytes) {
    return bytes ? integers_tile_quads : integers_has_quads() ? integers_tile_fused_pairs : integers_tile_pairs;
}
#else
enum { BLOCKS_OF_TILE = 1, INTEGERS_LINE = INTEGERS_BLOCK };
#define BLOCKS 1
#if defined __AVX2__ && !defined SC_PORTABLE
enum { ROWS_OF_TILE = 6 };
#define ROWS 6
typedef uint32_t integers_v8 __attribute__((vector_size(32), aligned(4), may_alias));
#define VEC integers_v8
#define LANES 8
#define SPREAD(group) ((VEC)_mm256_set1_epi32(group))
#define MADD(sum, a, b) ((sum) + (VEC)_mm256_madd_epi16((__m256i)(a), (__m256i)(b)))
#elif defined __SSE2__ && !defined SC_PORTABLE
enum { ROWS_OF_TILE = 2 };
#define ROWS 2
typedef uint32_t integers_v4 __attribute__((vector_size(16), aligned(4), may_alias));
#define VEC integers_v4
#define LANES 4
#define SPREAD(group) ((VEC)_mm_set1_epi32(group))
#define MADD(sum, a, b) ((sum) + (VEC)_mm_madd_epi16((__m128i)(a), (__m128i)(b)))
#else
enum { ROWS_OF_TILE = 2 };
#define ROWS 2
typedef uint32_t integers_v4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef int32_t integers_s4 __attribute__((vector_size(16), aligned(4), may_alias));
#define VEC integers_v4
#define LANES 4
#define SPREAD(group) ((VEC){(uint32_t)(group), (uint32_t)(group), (uint32_t)(group), (uint32_t)(group)})
#define HIGH(a) ((VEC)((integers_s4)(a) >> 16))
#define MADD(sum, a, b) ((sum) + HIGH(a) * HIGH(b) + HIGH((a) << 16) * HIGH((b) << 16))
#endif
#define TARGET
#define N(name) integers_##name##_pairs
#include "sc_integers_tile.inc"
static integers_tile *integers_best_tile(bool bytes) { return bytes ? NULL : integers_tile_pairs; }
#endif
#undef ROWS
#undef BLOCKS
#undef VEC
#undef LANES
#undef SPREAD
#undef MADD
#undef N
#undef TARGET

/* ---- products ---- */

/* Several products of the same sizes: images and groups of a convolution. The result of row r and vector place v is at
 * r * row + (v / pitch * width + v % pitch) * place, if v % pitch < width. */
typedef struct integers_product {
    integers_operands operands;
    integers_tile *tile;
    int64_t rows, places;       /* of one product */
    int64_t width, pitch;       /* of a line */
    int64_t row, place;         /* of a result */
    int64_t groups, x_of, w_of; /* from product to product; w is that of product % groups */
    int64_t image, group;       /* of a result, from product to product */
    int64_t tiles, chunks;
    const integers_group *x, *w;
    int32_t *out;
    /* Of bytes: where they are counted from, the terms of a sum, the sums of rows of w, and those of places of x, or groups of ones
     * that compute these. */
    bool bytes;
    int32_t low, middle, terms;
    const int32_t *row_sums, *place_sums;
    const integers_group *ones;
} integers_product;

typedef uint32_t integers_block __attribute__((vector_size(4 * INTEGERS_BLOCK), aligned(4), may_alias));

/* Compute middle (sum(u) + n low) for each place of a tile. */
static void integers_base(const integers_product *p, int64_t first, int blocks, const integers_group *x, integers_block *more) {
    int32_t sums[INTEGERS_LINE] = {0};
    if (p->place_sums) memcpy(sums, p->place_sums + first, (size_t)blocks * INTEGERS_BLOCK * sizeof *sums);
    else p->tile(&p->operands, 1, blocks, x, p->ones, sums);
    for (int v = 0; v < BLOCKS_OF_TILE; v++) {
        integers_block of = ((const integers_block *)(const void *)sums)[v];
        more[v] = (of + (uint32_t)p->terms * (uint32_t)p->low) * (uint32_t)p->middle;
    }
}

/* Copy the sums of some rows and of the places from column `at` of a line on. out: where the line's results begin. */
static void integers_store(const integers_product *p, int rows, int64_t at, int64_t places, const int32_t *sums, int32_t *out) {
    for (int64_t v = 0; v < places; v += p->pitch - at, at = 0, out += p->width * p->place) {
        int64_t left = p->width - at, n = left < places - v ? left : places - v;
        int32_t *to = out + at * p->place;
        for (int r = 0; r < rows && n > 0; r++, to += p->row) {
            const int32_t *from = sums + r * INTEGERS_LINE + v;
            if (p->place == 1) memcpy(to, from, (size_t)n * sizeof *to);
            else
                for (int64_t i = 0; i < n; i++) to[i * p->place] = from[i];
        }
    }
}

static void integers_multiply_some(void *arg, int64_t begin, int64_t end, int worker) {
    const integers_product *p = arg;
    const integers_operands *s = &p->operands;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        int32_t sums[ROWS_OF_TILE * INTEGERS_LINE];
        integers_block more[BLOCKS_OF_TILE] = {{0}};
        int64_t chunk = i % p->chunks, tile = i / p->chunks % p->tiles, product = i / p->chunks / p->tiles;
        int64_t image = product / p->groups, group = product % p->groups;
        int64_t first = tile * INTEGERS_LINE, places = p->places - first < INTEGERS_LINE ? p->places - first : INTEGERS_LINE;
        int64_t from = chunk * INTEGERS_CHUNK, to = from + INTEGERS_CHUNK < p->rows ? from + INTEGERS_CHUNK : p->rows;
        int blocks = (int)integers_parts(places, INTEGERS_BLOCK);
        const integers_group *x = p->x + product * p->x_of + first / INTEGERS_BLOCK * s->block;
        int32_t *out = p->out + image * p->image + group * p->group + first / p->pitch * p->width * p->place;
        if (p->bytes && p->middle) integers_base(p, first, blocks, x, more);
        for (int64_t r = from; r < to; r += ROWS_OF_TILE) {
            int rows = (int)(to - r < ROWS_OF_TILE ? to - r : ROWS_OF_TILE);
            p->tile(s, rows, blocks, x, p->w + group * p->w_of + r * s->row, sums);
            for (int k = 0; p->bytes && k < rows; k++) {
                integers_block *of = (integers_block *)(void *)(sums + k * INTEGERS_LINE);
                uint32_t of_row = (uint32_t)p->low * (uint32_t)p->row_sums[group * p->rows + r + k];
                for (int v = 0; v < blocks; v++) of[v] += more[v] + of_row;
            }
            integers_store(p, rows, first % p->pitch, places, sums, out + r * p->row);
        }
    }
}

static void integers_multiply(sc_ctx *cx, integers_product *p, int64_t products) {
    p->tile = integers_best_tile(p->bytes);
    p->tiles = integers_parts(p->places, INTEGERS_LINE), p->chunks = integers_parts(p->rows, INTEGERS_CHUNK);
    double ns = (double)products * (double)p->rows * (double)p->places * (double)p->operands.groups / 32;
    sc_parallel(cx, products * p->tiles * p->chunks, 1, ns, integers_multiply_some, p);
}

/* ---- matmul ---- */

/* Rows as groups, [rows, groups], behind the sums of their bytes. */
typedef struct integers_rows {
    const int16_t *x;
    int64_t terms, groups;
    bool bytes;
    int32_t base, *sums;
    uint32_t *to;
} integers_rows;

static void integers_pack_rows(void *arg, int64_t begin, int64_t end, int worker) {
    const integers_rows *m = arg;
    (void)worker;
    for (int64_t r = begin; r < end; r++) {
        const int16_t *from = m->x + r * m->terms;
        uint32_t *to = m->to + r * m->groups;
        if (m->bytes) {
            int32_t sum = 0;
            int8_t *of = (int8_t *)to;
            to[m->groups - 1] = 0;
            for (int64_t k = 0; k < m->terms; k++) {
                of[k] = (int8_t)(from[k] - m->base);
                sum += of[k];
            }
            m->sums[r] = sum;
        } else {
            to[m->groups - 1] = 0;
            memcpy(to, from, (size_t)m->terms * sizeof *from);
        }
    }
}

SC_KERNEL int integers_multiply_rows(sc_ctx *cx, const int16_t *x, int64_t rows, int64_t terms, integers_span span, const sc_packed *packed,
                                     int64_t columns, int32_t *out) {
    integers_rows m = {.x = x, .terms = terms, .groups = integers_parts(terms, packed->k), .bytes = packed->k == 4, .base = span.base};
    int64_t room = 2 * m.groups + rows * (1 + m.groups); /* offsets of 64 bits first */
    sc_tensor *work = sc_empty(cx, SC_I32, 1, &room);
    if (!work) return -1;
    int64_t *offset = work->data;
    m.sums = (int32_t *)(void *)(offset + m.groups), m.to = (uint32_t *)m.sums + rows;
    for (int64_t t = 0; t < m.groups; t++) offset[t] = t * INTEGERS_BLOCK;
    sc_parallel(cx, rows, 1, (double)(rows * terms) / 8, integers_pack_rows, &m);
    integers_product p = {.operands = {m.groups, m.groups * INTEGERS_BLOCK, m.groups, offset}, .rows = rows, .places = columns,
                          .width = columns, .pitch = columns, .row = columns, .place = 1, .groups = 1,
                          .x = integers_groups(packed, columns), .w = (const integers_group *)m.to, .out = out,
                          .bytes = m.bytes, .low = (int32_t)packed->n, .middle = span.base, .terms = (int32_t)terms,
                          .row_sums = m.sums, .place_sums = integers_sums(packed)};
    integers_multiply(cx, &p, 1);
    sc_release(cx, work);
    return 0;
}

SC_KERNEL sc_tensor *sc_integers_matmul(sc_ctx *cx, sc_tensor *x, const sc_packed *packed, int64_t columns) {
    int64_t size[SC_MAX_RANK], terms = x->size[x->rank - 1], rows = 1;
    integers_span span = INTEGERS_NONE;
    for (int d = 0; d < x->rank - 1; d++) rows *= size[d] = x->size[d];
    size[x->rank - 1] = columns;
    sc_tensor *out = sc_empty(cx, SC_I32, x->rank, size), *in = NULL;
    sc_packed *pairs = NULL;
    if (!out || !out->numel) return out;
    if (!terms) {
        memset(out->data, 0, (size_t)out->numel * sizeof(int32_t));
        return out;
    }
    in = sc_contiguous(cx, x);
    if (in && packed->k == 4) {
        integers_widen(&span, in->data, in->numel, 1);
        int64_t blocks = integers_parts(columns, INTEGERS_BLOCK);
        if (!integers_fit(&span, true)) packed = pairs = integers_as_pairs(cx, packed, true, columns, blocks, terms, INTEGERS_BLOCK);
    }
    int status = in && packed ? integers_multiply_rows(cx, in->data, rows, terms, span, packed, columns, out->data) : -1;
    sc_release(cx, in);
    sc_release(cx, pairs);
    if (status == 0) return out;
    sc_release(cx, out);
    return NULL;
}

/* ---- convolutions ---- */

/* The image of a convolution: for each group of channels, a plane of pixels for each phase of the strides, so that the pixels of an
 * element of the kernel are next to each other. Groups of columns begin at each pixel. */
typedef struct integers_image {
    const sc_tensor *x;
    const int64_t *stride, *padding, *dilation;
    int64_t channels, length, parts; /* of a group of the convolution: its channels, and its planes */
    int64_t groups, high, wide, plane;
    int32_t base;
    uint32_t *to;
    int16_t *lines; /* for each worker, a line with padding, of `line` elements; NULL if groups are of channels */
    int64_t line, gap; /* gap: from column to column of a group; 1 if the kernel has one */
} integers_image;

typedef int16_t integers_h8 __attribute__((vector_size(16), aligned(2), may_alias));
typedef uint32_t integers_u8 __attribute__((vector_size(32), aligned(4), may_alias));

/* Pack 8 pixels that are next to each other. */
SC_INLINE void integers_pack_pixels(const int16_t *from, int64_t next, int n, bool bytes, int32_t base, uint32_t *to) {
    integers_u8 groups = {0};
    for (int i = 0; i < n; i++) {
        integers_u8 of = __builtin_convertvector(*(const integers_h8 *)(const void *)(from + i * next), integers_u8);
        groups |= bytes ? ((of - (uint32_t)base) & 255) << 8 * i : (of & 65535) << 16 * i;
    }
    *(integers_u8 *)(void *)to = groups;
}

/* Pack a line of one phase, whose pixels are `step` apart. */
SC_INLINE void integers_pack_line(const int16_t *from, int64_t next, int n, bool bytes, int32_t base, int64_t step, int64_t count,
                                  uint32_t *to) {
    int64_t i = 0;
    if (step == 1 && count >= 8) {
        for (; i + 8 <= count; i += 8) integers_pack_pixels(from + i, next, n, bytes, base, to + i);
        if (i < count) integers_pack_pixels(from + count - 8, next, n, bytes, base, to + count - 8); /* some twice */
        return;
    }
    for (; i < count; i++) to[i] = integers_join(from + i * step, next, n, bytes, base);
}

/* Pack a line of groups of elements that are `next` apart, of which `left` are left. */
static void integers_pack_any_line(const integers_image *m, const int16_t *from, int64_t next, int64_t left, int64_t step, int64_t count,
                                   uint32_t *to) {
    if (m->length == 2 && left >= 2) integers_pack_line(from, next, 2, false, 0, step, count, to);
    else if (m->length == 2) integers_pack_line(from, next, 1, false, 0, step, count, to);
    else if (left >= 4) integers_pack_line(from, next, 4, true, m->base, step, count, to);
    else if (left == 3) integers_pack_line(from, next, 3, true, m->base, step, count, to);
    else if (left == 2) integers_pack_line(from, next, 2, true, m->base, step, count, to);
    else integers_pack_line(from, next, 1, true, m->base, step, count, to);
}

static void integers_pack_some(void *arg, int64_t begin, int64_t end, int worker) {
    const integers_image *m = arg;
    const int64_t *n = m->x->size, *step = m->x->stride;
    bool is_filled = m->plane == n[2] * n[3]; /* no padding, and phases of equal sizes */
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        int64_t part = i % m->parts, group = i / m->parts % m->groups, left = m->channels - m->length * part;
        const int16_t *image = (const int16_t *)m->x->data + i / m->parts / m->groups * step[0] +
                               (group * m->channels + m->length * part) * step[1];
        uint32_t *planes = m->to + i * m->plane, padding = 0;
        if (m->length == 4) padding = integers_join((const int16_t[4]){0}, 1, left, true, m->base);
        if (is_filled && m->stride[0] * m->stride[1] == 1 && step[2] == n[3] * step[3]) {
            integers_pack_any_line(m, image, step[1], left, step[3], m->plane, planes);
            continue;
        }
        for (int64_t k = 0; !is_filled && k < m->plane; k++) planes[k] = padding;
        for (int64_t y = 0; y < n[2]; y++) {
            int64_t row = y + m->padding[0];
            for (int64_t phase = 0; phase < m->stride[1]; phase++) {
                int64_t skipped = m->padding[1] - phase, column = phase;
                if (skipped > 0) column += integers_parts(skipped, m->stride[1]) * m->stride[1];
                int64_t first = column - m->padding[1], count = integers_parts(n[3] - first, m->stride[1]);
                int64_t place = row % m->stride[0] * m->stride[1] + phase, across = m->stride[1] * step[3];
                uint32_t *line = planes + (place * m->high + row / m->stride[0]) * m->wide + column / m->stride[1];
                const int16_t *from = image + y * step[2] + first * step[3];
                integers_pack_any_line(m, from, step[1], left, across, count, line);
            }
        }
    }
}

/* Pack images of one channel a group by groups of columns. */
static void integers_pack_columns_of(void *arg, int64_t begin, int64_t end, int worker) {
    const integers_image *m = arg;
    const int64_t *n = m->x->size, *step = m->x->stride;
    int16_t *line = m->lines + worker * m->line;
    memset(line, 0, (size_t)m->line * sizeof *line);
    for (int64_t i = begin; i < end; i++) {
        const int16_t *image = (const int16_t *)m->x->data + i / m->groups * step[0] + i % m->groups * step[1];
        for (int64_t row = 0; row < m->high * m->stride[0]; row++) {
            int64_t y = row - m->padding[0];
            bool is_inside = y >= 0 && y < n[2];
            int16_t *from = is_inside ? line : line + m->line / 2; /* the second half is padding */
            if (is_inside && step[3] == 1) memcpy(line + m->padding[1], image + y * step[2], (size_t)n[3] * sizeof *line);
            for (int64_t z = 0; is_inside && step[3] != 1 && z < n[3]; z++) line[m->padding[1] + z] = image[y * step[2] + z * step[3]];
            for (int64_t phase = 0; phase < m->stride[1]; phase++) {
                uint32_t *to = m->to + i * m->plane + ((row % m->stride[0] * m->stride[1] + phase) * m->high + row / m->stride[0]) * m->wide;
                integers_pack_any_line(m, from + phase, m->gap, m->length, m->stride[1], m->wide, to);
            }
        }
    }
}

static sc_tensor *integers_pack(sc_ctx *cx, integers_image *m, int64_t images) {
    int64_t planes = images * m->groups * m->parts, total;
    bool overflow = __builtin_mul_overflow(planes, m->plane, &total);
    overflow |= __builtin_add_overflow(total, INTEGERS_LINE, &total); /* which the last tile may read */
    if (overflow) return sc_raise(cx, "RuntimeError", "the padded image of the convolution is too large"), NULL;
    sc_tensor *out = sc_empty(cx, SC_I32, 1, &total);
    if (!out) return NULL;
    m->to = out->data;
    memset(m->to + planes * m->plane, 0, INTEGERS_LINE * sizeof *m->to);
    if (m->channels > 1) {
        sc_parallel(cx, planes, 1, (double)total / 4, integers_pack_some, m);
        return out;
    }
    m->line = 2 * (m->wide * m->stride[1] + 3 * m->gap);
    int64_t room = sc_workers(cx) * m->line;
    sc_tensor *lines = sc_empty(cx, SC_I16, 1, &room);
    if (lines) {
        m->lines = lines->data;
        sc_parallel(cx, planes, 1, (double)total / 4, integers_pack_columns_of, m);
        sc_release(cx, lines);
        return out;
    }
    sc_release(cx, out);
    return NULL;
}

/* Multiply the image m, of which all but the groups is known, by filters. Return -1 after an error. */
static int integers_convolve(sc_ctx *cx, integers_image *m, const sc_packed *packed, integers_product *p, const int64_t *weight) {
    m->length = packed->k;
    integers_sum sum = integers_sum_of(weight, m->length);
    m->parts = sum.columns ? 1 : sum.parts;
    int64_t terms = sum.parts * sum.inner, room = 3 * terms;
    sc_tensor *image = integers_pack(cx, m, m->x->size[0]), *work = image ? sc_empty(cx, SC_I32, 1, &room) : NULL;
    if (work) {
        int64_t *offset = work->data;
        integers_group *ones = (integers_group *)(offset + terms);
        for (int64_t t = 0; t < terms; t++) {
            int64_t part = t / sum.inner, k = t % sum.inner;
            int64_t y = (sum.columns ? k : k / weight[3]) * m->dilation[0];
            int64_t z = (sum.columns ? part * m->length : k % weight[3]) * m->dilation[1];
            int64_t phase = y % m->stride[0] * m->stride[1] + z % m->stride[1];
            offset[t] = (sum.columns ? 0 : part * m->plane) + (phase * m->high + y / m->stride[0]) * m->wide + z / m->stride[1];
            int64_t left = sum.columns ? weight[3] - part * m->length : m->length;
            ones[t] = (integers_group)(left < m->length ? 0x01010101 & (((uint32_t)1 << 8 * left) - 1) : 0x01010101);
        }
        p->operands = (integers_operands){terms, INTEGERS_BLOCK, terms, offset};
        p->x_of = m->parts * m->plane, p->w_of = p->rows * terms, p->x = image->data, p->w = integers_groups(packed, weight[0]);
        p->bytes = m->length == 4, p->low = m->base, p->middle = (int32_t)packed->n;
        p->terms = (int32_t)(weight[1] * weight[2] * weight[3]);
        p->row_sums = integers_sums(packed), p->ones = ones;
        integers_multiply(cx, p, m->x->size[0] * m->groups);
    }
    sc_release(cx, image);
    sc_release(cx, work);
    return work ? 0 : -1;
}

SC_KERNEL sc_tensor *sc_integers_conv2d(sc_ctx *cx, sc_tensor *x, const sc_packed *packed, bool channels_last, const int64_t *weight,
                                        const int64_t *stride, const int64_t *padding, const int64_t *dilation, int64_t groups) {
    if (sc_check_conv2d(cx, x, weight, stride, padding, dilation, groups) < 0) return NULL;
    int64_t out_size[2], extent[2];
    for (int i = 0; i < 2; i++) {
        int64_t padded = x->size[2 + i] + 2 * padding[i];
        out_size[i] = (padded - dilation[i] * (weight[2 + i] - 1) - 1) / stride[i] + 1;
        extent[i] = integers_parts(padded, stride[i]);
    }
    const int64_t size[4] = {x->size[0], weight[0], out_size[0], out_size[1]}, plane = out_size[0] * out_size[1];
    const int64_t last[4] = {plane * size[1], 1, size[3] * size[1], size[1]};
    if (size[0] == 0) channels_last = false;
    sc_tensor *out = channels_last ? sc_empty_strided(cx, SC_I32, 4, size, last) : sc_empty(cx, SC_I32, 4, size);
    if (!out || !out->numel) return out;
    sc_tensor *in = sc_is_dense(x) ? sc_alias(cx, x) : sc_contiguous(cx, x);
    sc_packed *pairs = NULL;
    integers_span span = INTEGERS_NONE;
    if (padding[0] || padding[1]) span.low = span.high = 0;
    if (in && packed->k == 4) {
        integers_widen(&span, in->data, in->numel, 1);
        integers_sum sum = integers_sum_of(weight, 4);
        if (!integers_fit(&span, false)) packed = pairs = integers_as_pairs(cx, packed, false, weight[0], weight[0], sum.elements, sum.inner);
    }
    integers_image m = {.x = in, .stride = stride, .padding = padding, .dilation = dilation, .channels = weight[1], .groups = groups,
                        .gap = weight[3] > 1 ? dilation[1] : 1, .high = extent[0],
                        .wide = extent[1], .plane = stride[0] * stride[1] * extent[0] * extent[1], .base = span.base};
    integers_product p = {.rows = weight[0] / groups, .places = (out_size[0] - 1) * m.wide + out_size[1], .width = out_size[1],
                          .pitch = m.wide, .row = channels_last ? 1 : plane, .place = channels_last ? weight[0] : 1, .groups = groups,
                          .image = plane * weight[0], .out = out->data};
    p.group = p.rows * p.row;
    int status = in && packed ? integers_convolve(cx, &m, packed, &p, weight) : -1;
    sc_release(cx, in);
    sc_release(cx, pairs);
    if (status == 0) return out;
    sc_release(cx, out);
    return NULL;
}

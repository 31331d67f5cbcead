/* sc_random.c - random numbers as PyTorch's CPU generator gives them: the Mersenne Twister MT19937, and the ways in which
 * eager makes distributions of its words. Elements are filled in the order of memory, as eager does. */
#include <math.h>
#include <string.h>

#include "../include/sc_half.h"
#include "../include/sc_scalar.h"
#include "sc_internal.h"

/* ---- words ---- */

enum { N_WORDS = 624, SHIFT = 397 };

static uint64_t twist(uint64_t high, uint64_t low) {
    uint64_t y = (high & 0x80000000u) | (low & 0x7fffffffu);
    return (y >> 1) ^ (y & 1 ? 0x9908b0dfu : 0);
}

static void next_block(sc_rng *g) {
    uint64_t *s = g->state;
    for (int i = 0; i < N_WORDS; i++) s[i] = s[(i + SHIFT) % N_WORDS] ^ twist(s[i], s[(i + 1) % N_WORDS]);
    g->left = N_WORDS;
    g->next = 0;
}

static uint32_t word(sc_rng *g) {
    if (--g->left == 0) next_block(g);
    uint32_t y = (uint32_t)g->state[g->next++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ y >> 18;
}

static uint64_t two_words(sc_rng *g) {
    uint64_t high = word(g);
    return high << 32 | word(g);
}

/* Return a number in [0, 1): from 24 bits of one word, or 53 bits of two words. */
static float unit_f32(sc_rng *g) { return (float)(word(g) & 0xffffffu) * 0x1p-24f; }
static double unit_f64(sc_rng *g) { return (double)(two_words(g) & 0x1fffffffffffffu) * 0x1p-53; }

/* ---- numbers of a distribution ---- */

static double uniform(sc_rng *g, int dtype, double from, double to) {
    if (dtype == SC_F64) return unit_f64(g) * (to - from) + from;
    return unit_f32(g) * ((float)to - (float)from) + (float)from;
}

/* Return a normal number. Numbers are made in pairs, and the generator keeps the second. */
static double normal(sc_rng *g, double mean, double std) {
    if (g->normal_is_valid) {
        g->normal_is_valid = 0;
        double waiting = g->normal_y;
        g->normal_y = 0;
        return waiting * std + mean;
    }
    double u = unit_f64(g), v = unit_f64(g), radius = sqrt(-2 * log1p(-v)), angle = 2 * M_PI * u;
    g->normal_y = radius * sin(angle);
    g->normal_is_valid = 1;
    return radius * cos(angle) * std + mean;
}

static double draw(sc_rng *g, int kind, int dtype, double a, double b) {
    switch (kind) {
    case SC_RANDOM_UNIFORM: return uniform(g, dtype, a, b);
    case SC_RANDOM_NORMAL: return normal(g, a, b);
    case SC_RANDOM_BERNOULLI: return unit_f64(g) < a;
    default: return -1.0 / a * log1p(-unit_f64(g)); /* exponential */
    }
}

/* ---- elements ---- */

static void put(void *p, int dtype, double x) {
    switch (dtype) {
    case SC_F64: *(double *)p = x; break;
    case SC_F32: *(float *)p = (float)x; break;
    case SC_F16: *(uint16_t *)p = sc_f32_to_f16((float)x); break;
    case SC_BF16: *(uint16_t *)p = sc_f32_to_bf16((float)x); break;
    case SC_I64: *(int64_t *)p = (int64_t)x; break;
    case SC_I32: *(int32_t *)p = (int32_t)x; break;
    case SC_I16: *(int16_t *)p = (int16_t)x; break;
    case SC_BOOL: *(bool *)p = x != 0; break;
    default: *(uint8_t *)p = (uint8_t)(int8_t)x; break;
    }
}

static double get(const void *p, int dtype) {
    switch (dtype) {
    case SC_F64: return *(const double *)p;
    case SC_F32: return *(const float *)p;
    case SC_F16: return sc_f16_to_f32(*(const uint16_t *)p);
    default: return sc_bf16_to_f32(*(const uint16_t *)p);
    }
}

static double rounded(int dtype, double x) {
    uint64_t room;
    if (dtype < SC_F16 || dtype == SC_F64) return x;
    put(&room, dtype, x);
    return get(&room, dtype);
}

static sc_rng *generator(sc_ctx *cx) {
    if (!cx->rng) sc_raise(cx, "RuntimeError", "internal scriptc error: this call has no generator of random numbers");
    return cx->rng;
}

/* ---- many normal numbers at once, as eager makes them for 16 elements and more ---- */

static void sixteen(double *v, int dtype, double mean, double std) {
    for (int i = 0; i < 8; i++) {
        double u = 1 - v[i], t = v[i + 8];
        double radius = dtype == SC_F64 ? sqrt(-2 * log(u)) : sqrtf(-2 * logf((float)u));
        double angle = dtype == SC_F64 ? 2 * M_PI * t : 2.0f * (float)M_PI * (float)t;
        v[i] = radius * (dtype == SC_F64 ? cos(angle) : cosf((float)angle)) * std + mean;
        v[i + 8] = radius * (dtype == SC_F64 ? sin(angle) : sinf((float)angle)) * std + mean;
    }
}

static void fill_sixteen(sc_rng *g, char *data, int dtype, double mean, double std, bool drawn) {
    size_t item = sc_dtype_size(dtype);
    double v[16];
    for (int i = 0; i < 16; i++) v[i] = drawn ? get(data + (size_t)i * item, dtype) : uniform(g, dtype, 0, 1);
    sixteen(v, dtype, mean, std);
    for (int i = 0; i < 16; i++) put(data + (size_t)i * item, dtype, v[i]);
}

/* Fill t with normal numbers. float and double draw all uniform numbers first, half types those of sixteen elements at
 * a time. The last sixteen are drawn again if the number of elements is no multiple of sixteen. */
static void fill_normal(sc_rng *g, const sc_tensor *t, double mean, double std) {
    size_t item = sc_dtype_size(t->dtype);
    bool first = t->dtype >= SC_F32;
    char *data = t->data;
    for (int64_t i = 0; first && i < t->numel; i++) put(data + (size_t)i * item, t->dtype, uniform(g, t->dtype, 0, 1));
    for (int64_t i = 0; i < t->numel - 15; i += 16) fill_sixteen(g, data + (size_t)i * item, t->dtype, mean, std, first);
    if (t->numel % 16) fill_sixteen(g, data + (size_t)(t->numel - 16) * item, t->dtype, mean, std, false);
}

/* ---- what generated code calls ---- */

SC_KERNEL int sc_random_fill(sc_ctx *cx, sc_tensor *dst, int kind, double a, double b) {
    sc_rng *g = generator(cx);
    sc_iter it;
    size_t item = sc_dtype_size(dst->dtype);
    if (!g || sc_iter_into(cx, &it, dst, 0, NULL) < 0) return -1;
    if (kind == SC_RANDOM_UNIFORM) a = rounded(dst->dtype, a), b = rounded(dst->dtype, b);
    if (kind == SC_RANDOM_NORMAL && dst->numel >= 16 && sc_is_contiguous(dst)) {
        fill_normal(g, dst, a, b);
        return 0;
    }
    do {
        char *p = it.p[0];
        for (int64_t i = 0; i < it.n; i++, p += it.step[0] * (int64_t)item) put(p, dst->dtype, draw(g, kind, dst->dtype, a, b));
    } while (sc_iter_next(&it));
    return 0;
}

SC_KERNEL int sc_random_ints(sc_ctx *cx, sc_tensor *dst, int64_t low, int64_t high) {
    sc_rng *g = generator(cx);
    sc_iter it;
    size_t item = sc_dtype_size(dst->dtype);
    uint64_t range = (uint64_t)high - (uint64_t)low;
    if (!g || sc_iter_into(cx, &it, dst, 0, NULL) < 0) return -1;
    do {
        char *p = it.p[0];
        for (int64_t i = 0; i < it.n; i++, p += it.step[0] * (int64_t)item) {
            int64_t x = (int64_t)((range >= UINT64_C(1) << 28 ? two_words(g) : word(g)) % range + (uint64_t)low);
            if (dst->dtype == SC_I64) *(int64_t *)(void *)p = x;
            else put(p, dst->dtype, (double)x);
        }
    } while (sc_iter_next(&it));
    return 0;
}

SC_KERNEL int sc_random_bernoulli(sc_ctx *cx, sc_tensor *dst, const sc_tensor *probability) {
    sc_rng *g = generator(cx);
    sc_tensor *in[] = {(sc_tensor *)probability};
    sc_iter it;
    size_t item = sc_dtype_size(dst->dtype), from = sc_dtype_size(probability->dtype);
    if (!g || sc_iter_into(cx, &it, dst, 1, in) < 0) return -1;
    do {
        char *p = it.p[0];
        const char *q = it.p[1];
        for (int64_t i = 0; i < it.n; i++, p += it.step[0] * (int64_t)item, q += it.step[1] * (int64_t)from) {
            double limit = get(q, probability->dtype);
            if (!(limit >= 0 && limit <= 1))
                return sc_raise(cx, "RuntimeError", "Expected p_in >= 0 && p_in <= 1 to be true, but got false.");
            put(p, dst->dtype, (probability->dtype == SC_F64 ? unit_f64(g) : (double)unit_f32(g)) < limit);
        }
    } while (sc_iter_next(&it));
    return 0;
}

/* Write a permutation of 0 .. n-1. */
SC_KERNEL int sc_random_permute(sc_ctx *cx, sc_tensor *dst) {
    sc_rng *g = generator(cx);
    int64_t n = dst->numel, *p = dst->data;
    if (!g) return -1;
    for (int64_t i = 0; i < n; i++) p[i] = i;
    for (int64_t i = 0; i < n - 1; i++) {
        int64_t z = i + (int64_t)(word(g) % (uint64_t)(n - i)), held = p[i];
        p[i] = p[z];
        p[z] = held;
    }
    return 0;
}

/* Write the slope of each element of x: one, or a number between the bounds if the element is not positive. */
SC_KERNEL int sc_random_slopes(sc_ctx *cx, sc_tensor *dst, const sc_tensor *x, double lower, double upper) {
    sc_rng *g = generator(cx);
    size_t item = sc_dtype_size(dst->dtype);
    if (!g) return -1;
    for (int64_t i = 0; i < x->numel; i++) {
        bool drawn = get((const char *)x->data + (size_t)i * item, x->dtype) <= 0;
        put((char *)dst->data + (size_t)i * item, dst->dtype, drawn ? unit_f64(g) * (upper - lower) + lower : 1.0);
    }
    return 0;
}

/* Draw indices of rows of weights with replacement. dst: (rows, n) or (n,), int64; sums: the running sums of the
 * weights, divided by their total, contiguous. */
SC_KERNEL int sc_random_places(sc_ctx *cx, sc_tensor *dst, const sc_tensor *sums) {
    sc_rng *g = generator(cx);
    if (!g) return -1;
    int64_t n = sums->size[sums->rank - 1], each = dst->size[dst->rank - 1], *out = dst->data;
    size_t item = sc_dtype_size(sums->dtype);
    for (int64_t i = 0; i < dst->numel; i++) {
        const char *row = (const char *)sums->data + (size_t)(i / each * n) * item;
        double wanted = unit_f64(g);
        int64_t low = 0, high = n;
        while (low < high) {
            int64_t middle = low + (high - low) / 2;
            double held = middle == n - 1 ? 1.0 : get(row + (size_t)middle * item, sums->dtype);
            if (held < wanted) low = middle + 1;
            else high = middle;
        }
        out[i] = low;
    }
    return 0;
}

/* Copy the state of the generator to dst, and back: a contiguous tensor of bytes. */
SC_KERNEL int sc_random_state(sc_ctx *cx, sc_tensor *dst) {
    sc_rng *g = generator(cx);
    if (!g) return -1;
    memcpy(dst->data, g, sizeof *g);
    return 0;
}

SC_KERNEL int sc_random_restore(sc_ctx *cx, const sc_tensor *state) {
    sc_rng *g = generator(cx);
    if (!g) return -1;
    memcpy(g, state->data, sizeof *g);
    return 0;
}

/* ---- the generator of Python's module `random`, another Mersenne Twister (CPython's Modules/_randommodule.c) ---- */

static uint32_t python_word(sc_ctx *cx) {
    return cx->python_word ? cx->python_word(cx->user) : word(cx->python_rng);
}

SC_KERNEL int sc_python_random(sc_ctx *cx, double *out) {
    uint32_t high = python_word(cx) >> 5, low = python_word(cx) >> 6;
    *out = (high * 67108864.0 + low) * 0x1p-53;
    return 0;
}

SC_KERNEL int sc_python_bits(sc_ctx *cx, int64_t k, int64_t *out) {
    uint64_t bits = 0;
    if (k < 0) return sc_raise(cx, "ValueError", "number of bits must be non-negative");
    if (k > 63) return sc_raise(cx, "OverflowError", "Python int too large to convert to C long");
    for (int64_t at = 0; at < k; at += 32) bits |= (uint64_t)(python_word(cx) >> (k - at < 32 ? 32 - (k - at) : 0)) << at;
    *out = (int64_t)bits;
    return 0;
}

/* ---- the generator behind NumPy's functions `np.random`, a Mersenne Twister, too (NumPy's legacy distributions) ---- */

static sc_rng *numpy_generator(sc_ctx *cx) {
    if (!cx->numpy_rng && cx->lend_numpy) cx->numpy_rng = cx->lend_numpy(cx->user);
    if (!cx->numpy_rng) sc_raise(cx, "RuntimeError", "internal scriptc error: this call has no generator of NumPy");
    return cx->numpy_rng;
}

static double numpy_unit(sc_rng *g) {
    uint32_t high = word(g) >> 5, low = word(g) >> 6;
    return (high * 67108864.0 + low) / 9007199254740992.0;
}

/* Return a number in 0 .. most: words under a mask, until one is in the range. */
static uint64_t numpy_below(sc_rng *g, uint64_t most) {
    uint64_t mask = most, found;
    if (most == 0) return 0;
    if (most == UINT32_MAX) return word(g);
    for (int shift = 1; shift < 64; shift *= 2) mask |= mask >> shift;
    do found = (most <= UINT32_MAX ? word(g) : two_words(g)) & mask;
    while (found > most);
    return found;
}

/* Return a normal number by the polar method. Numbers are made in pairs, and the generator keeps the second. */
static double numpy_gauss(sc_rng *g) {
    double x, y, square;
    if (g->normal_is_valid) {
        double waiting = g->normal_y;
        g->normal_is_valid = 0, g->normal_y = 0;
        return waiting;
    }
    do {
        x = 2.0 * numpy_unit(g) - 1.0; /* exact, so an FMA gives the same */
        y = 2.0 * numpy_unit(g) - 1.0;
        square = SC_ROUNDED(x * x) + SC_ROUNDED(y * y);
    } while (square >= 1.0 || square == 0.0);
    double factor = sqrt(-2.0 * log(square) / square);
    g->normal_y = factor * x, g->normal_is_valid = 1;
    return factor * y;
}

/* Fill dst, contiguous and float64, with numbers in [0, 1), or with normal numbers, times b plus a. */
SC_KERNEL int sc_numpy_fill(sc_ctx *cx, sc_tensor *dst, double a, double b, bool normals) {
    sc_rng *g = numpy_generator(cx);
    double *out = dst->data;
    if (!g) return -1;
    for (int64_t i = 0; i < dst->numel; i++) out[i] = a + SC_ROUNDED(b * (normals ? numpy_gauss(g) : numpy_unit(g)));
    return 0;
}

/* Fill dst, contiguous and int64, with integers in low .. high-1. */
SC_KERNEL int sc_numpy_ints(sc_ctx *cx, sc_tensor *dst, int64_t low, int64_t high) {
    sc_rng *g = numpy_generator(cx);
    int64_t *out = dst->data;
    if (!g) return -1;
    for (int64_t i = 0; i < dst->numel; i++)
        out[i] = (int64_t)((uint64_t)low + numpy_below(g, (uint64_t)high - (uint64_t)low - 1));
    return 0;
}

/* Write the numbers 0 .. n-1 as np.random.shuffle leaves them. */
SC_KERNEL int sc_numpy_shuffle(sc_ctx *cx, sc_tensor *dst) {
    sc_rng *g = numpy_generator(cx);
    int64_t *out = dst->data;
    if (!g) return -1;
    for (int64_t i = 0; i < dst->numel; i++) out[i] = i;
    for (int64_t i = dst->numel - 1; i > 0; i--) {
        int64_t at = (int64_t)numpy_below(g, (uint64_t)i), held = out[i];
        out[i] = out[at];
        out[at] = held;
    }
    return 0;
}

/* decoder.h - code that the decoders by hand share: products of one or a few rows, norms, softmax, the largest element.
 *
 * Rows are padded to whole panels of WIDE elements, whose weights are zero and whose biases are LEAST where an argmax or a
 * softmax reads them. Numbers of the model (words, scores) enter and leave as floats. */
#include "floor.h"

enum { WIDE = 4 * LANES, BLOCK = LANES == 16 ? 4 : 2 }; /* a block of rows by a panel of columns fits the registers */
#define PADDED(n) (((n) + WIDE - 1) / WIDE * WIDE)
#define LEAST -1e30f

/* Pack w [n, depth] into panels of WIDE consecutive rows of w. */
INLINE float *pack_wide(int n, int depth, const float *w) {
    float *made = floats((size_t)PADDED(n) * depth);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < depth; k++) made[((size_t)(i / WIDE) * depth + k) * WIDE + i % WIDE] = w[(size_t)i * depth + k];
    return made;
}
/* Pack a and b, both [gates * hidden, depth], as one matrix [a | b] whose gates lie side by side. */
INLINE float *pack_both(int gates, int hidden, int depth, const float *a, const float *b) {
    float *both = floats((size_t)gates * hidden * 2 * depth);
    for (int i = 0; i < gates * hidden; i++) {
        memcpy(both + (size_t)i * 2 * depth, a + (size_t)i * depth, sizeof(float) * depth);
        memcpy(both + ((size_t)i * 2 + 1) * depth, b + (size_t)i * depth, sizeof(float) * depth);
    }
    float *made = pack(gates, hidden, 2 * depth, both);
    free(both);
    return made;
}
INLINE float *pad(int n, const float *bias, float filled) {
    float *made = floats(PADDED(n));
    for (int i = 0; i < PADDED(n); i++) made[i] = i < n ? bias[i] : filled;
    return made;
}

/* Compute tile[r][g] += x[r][:] panel[:][g] for a number of rows that is a multiple of BLOCK. Each slice of the panel is read
 * by all rows while it is in the first-level cache, and the next slice is fetched meanwhile. */
INLINE void multiply_blocks(int rows, int depth, const float *x, size_t stride, const float *panel, vec (*tile)[4]) {
    enum { SLICE = 32, LINE = 64 / sizeof(float) };
    const int share = (WIDE + LINE * rows / BLOCK - 1) / (LINE * rows / BLOCK); /* lines that a step of a block fetches */
    for (int from = 0; from < depth; from += SLICE, panel += SLICE * WIDE) {
        int count = depth - from < SLICE ? depth - from : SLICE;
        const float *ahead = panel + SLICE * WIDE;
        for (int row = 0; row < rows; row += BLOCK) {
            vec sums[BLOCK][4];
            memcpy(sums, tile + row, sizeof sums);
            for (int k = 0; k < count; k++) {
                for (int i = 0; i < share; i++, ahead += LINE) __builtin_prefetch(ahead);
                for (int r = 0; r < BLOCK; r++)
                    for (int g = 0; g < 4; g++)
                        sums[r][g] += x[(row + r) * stride + from + k] * load(panel + k * WIDE + g * LANES);
            }
            memcpy(tile + row, sums, sizeof sums);
        }
    }
}

/* Compute out [rows, PADDED(n)] = bias + x w. `rows` is a constant at each call. */
INLINE void product(int rows, int n, int depth, const float *x, const float *w, const float *bias, float *out) {
    int blocks = rows / BLOCK * BLOCK;
    for (int j = 0; j < PADDED(n); j += WIDE, w += (size_t)WIDE * depth) {
        vec tile[rows][4];
        for (int r = 0; r < rows; r++)
            for (int g = 0; g < 4; g++) tile[r][g] = load(bias + j + g * LANES);
        if (blocks) multiply_blocks(blocks, depth, x, depth, w, tile);
        for (int r = blocks; r < rows; r++) multiply(1, 4, depth, x + (size_t)r * depth, 0, w, tile + r);
        for (int r = 0; r < rows; r++)
            for (int g = 0; g < 4; g++) store(out + (size_t)r * PADDED(n) + j + g * LANES, tile[r][g]);
    }
}

INLINE vec choose(ints mask, vec a, vec b) { return (vec)((mask & (ints)a) | (~mask & (ints)b)); }
INLINE vec larger(vec a, vec b) { return choose(a > b, a, b); }
INLINE float sum_of(vec v) {
    float sum = 0;
    for (int l = 0; l < LANES; l++) sum += v[l];
    return sum;
}
INLINE float max_of(vec v) {
    float most = v[0];
    for (int l = 1; l < LANES; l++) most = v[l] > most ? v[l] : most;
    return most;
}

/* Return the first of the largest elements. */
INLINE int argmax(int n, const float *x) {
    vec best = (vec){0} + LEAST;
    ints at = {0}, here;
    for (int l = 0; l < LANES; l++) here[l] = l;
    for (int i = 0; i < n; i += LANES, here += LANES) {
        vec v = load(x + i);
        ints more = v > best;
        best = choose(more, v, best);
        at = (here & more) | (at & ~more);
    }
    float most = max_of(best);
    int first = n;
    for (int l = 0; l < LANES; l++)
        if (best[l] == most && at[l] < first) first = at[l];
    return first;
}

/* Compute e^(x - its largest element), unless out is NULL, and return the sum. The largest element is at least LEAST. */
INLINE float exponentials(int n, const float *x, float *out, float *largest) {
    vec most = (vec){0} + LEAST, sum = {0};
    for (int i = 0; i < n; i += LANES) most = larger(load(x + i), most);
    *largest = max_of(most);
    for (int i = 0; i < n; i += LANES) {
        vec e = exp_of(load(x + i) - *largest);
        if (out) store(out + i, e);
        sum += e;
    }
    return sum_of(sum);
}

/* Compute the norm of a row. */
INLINE void normalize(int n, const float *x, const float *gain, const float *shift, float *out) {
    vec sum = {0}, square = {0};
    for (int i = 0; i < n; i += LANES) sum += load(x + i);
    float mean = sum_of(sum) / (float)n;
    for (int i = 0; i < n; i += LANES) square += (load(x + i) - mean) * (load(x + i) - mean);
    float scale = 1 / __builtin_sqrtf(sum_of(square) / (float)n + 1e-5f);
    for (int i = 0; i < n; i += LANES) store(out + i, (load(x + i) - mean) * scale * load(gain + i) + load(shift + i));
}

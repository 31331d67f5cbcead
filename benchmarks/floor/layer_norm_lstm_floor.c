/* layer_norm_lstm_floor.c - an LSTM by hand whose products and cell state are normalized.
 * weights: w_ih [4 HIDDEN, INPUT], w_hh [4 HIDDEN, HIDDEN]; scale and shift of the norms of both products [4 HIDDEN] and of
 * the cell state [HIDDEN]. */
#include "floor.h"

static float *wx, *wh, *zeros, *c, *gates, *projected, *no_bias;
static const float *norm[6];

void prepare(const float *const *weights) {
    wx = pack(4, HIDDEN, INPUT, weights[0]), wh = pack(4, HIDDEN, HIDDEN, weights[1]);
    for (int i = 0; i < 4; i++) norm[i] = pack_bias(4, HIDDEN, weights[2 + i], NULL);
    norm[4] = weights[6], norm[5] = weights[7];
    zeros = floats(BATCH * HIDDEN), c = floats(BATCH * HIDDEN), no_bias = floats(4 * HIDDEN);
    gates = floats(BATCH * 4 * HIDDEN), projected = floats((size_t)STEPS * BATCH * 4 * HIDDEN);
}

/* Compute the mean and one over the standard deviation of a row. */
static void moments(int n, const float *x, float *mean, float *scale) {
    vec sum = {0}, square = {0};
    float total = 0, squares = 0;
    for (int i = 0; i < n; i += LANES) sum += load(x + i);
    for (int l = 0; l < LANES; l++) total += sum[l];
    *mean = total / n;
    for (int i = 0; i < n; i += LANES) square += (load(x + i) - *mean) * (load(x + i) - *mean);
    for (int l = 0; l < LANES; l++) squares += square[l];
    *scale = 1 / __builtin_sqrtf(squares / n + 1e-5f);
}
INLINE vec normal(const float *x, float mean, float scale, const float *gain, const float *shift) {
    return (load(x) - mean) * scale * load(gain) + load(shift);
}

static void step(const float *from, const float *old, float *new) {
    project(4, HIDDEN, HIDDEN, BATCH, old, wh, no_bias, gates);
    for (int b = 0; b < BATCH; b++, from += 4 * HIDDEN, new += HIDDEN) {
        float mean[3], scale[3], *of_h = gates + (size_t)b * 4 * HIDDEN, *cell = c + (size_t)b * HIDDEN;
        vec out[HIDDEN / LANES];
        moments(4 * HIDDEN, from, &mean[0], &scale[0]);
        moments(4 * HIDDEN, of_h, &mean[1], &scale[1]);
        for (int j = 0; j < HIDDEN; j += LANES) {
            vec gate[4];
            for (int g = 0; g < 4; g++) {
                int at = j * 4 + g * LANES;
                gate[g] = normal(from + at, mean[0], scale[0], norm[0] + at, norm[1] + at) +
                          normal(of_h + at, mean[1], scale[1], norm[2] + at, norm[3] + at);
            }
            store(cell + j, sigmoid(gate[1]) * load(cell + j) + sigmoid(gate[0]) * tanh_of(gate[2]));
            out[j / LANES] = sigmoid(gate[3]);
        }
        moments(HIDDEN, cell, &mean[2], &scale[2]);
        for (int j = 0; j < HIDDEN; j += LANES) {
            vec state = normal(cell + j, mean[2], scale[2], norm[4] + j, norm[5] + j);
            store(cell + j, state);
            store(new + j, out[j / LANES] * tanh_of(state));
        }
    }
}

static void forward(int plan, const float *x, float *out) {
    memset(c, 0, sizeof(float) * BATCH * HIDDEN);
    if (plan) project(4, HIDDEN, INPUT, STEPS * BATCH, x, wx, no_bias, projected);
    for (int t = 0; t < STEPS; t++) {
        if (!plan) project(4, HIDDEN, INPUT, BATCH, x + (size_t)t * BATCH * INPUT, wx, no_bias, projected);
        step(projected + (plan ? (size_t)t * BATCH * 4 * HIDDEN : 0), t ? out + (size_t)(t - 1) * BATCH * HIDDEN : zeros,
             out + (size_t)t * BATCH * HIDDEN);
    }
}

/* gru_floor.c - a GRU layer by hand: x [STEPS, BATCH, INPUT] to all hidden states [STEPS, BATCH, HIDDEN].
 * weights: w_ih [3 HIDDEN, INPUT], w_hh [3 HIDDEN, HIDDEN], b_ih, b_hh; reset, update, new. */
#include "floor.h"

static float *wx, *wh, *bias_x, *bias_h, *zeros, *projected;

void prepare(const float *const *weights) {
    wx = pack(3, HIDDEN, INPUT, weights[0]), wh = pack(3, HIDDEN, HIDDEN, weights[1]);
    bias_x = pack_bias(3, HIDDEN, weights[2], NULL), bias_h = pack_bias(3, HIDDEN, weights[3], NULL);
    zeros = floats(BATCH * HIDDEN), projected = floats((size_t)STEPS * BATCH * 3 * HIDDEN);
}

static void step(const float *from, const float *old, float *new) {
    for (int j = 0; j < HIDDEN / LANES; j++) {
#define STEP_BLOCK(rows, row)                                                                                       \
    do {                                                                                                            \
        vec tile[MOST_ROWS][4];                                                                                     \
        for (int r = 0; r < (rows); r++)                                                                            \
            for (int g = 0; g < 3; g++) tile[r][g] = load(bias_h + (j * 3 + g) * LANES);                            \
        multiply(rows, 3, HIDDEN, old + (size_t)(row) * HIDDEN, HIDDEN, wh + (size_t)j * 3 * LANES * HIDDEN, tile); \
        for (int r = 0; r < (rows); r++) {                                                                          \
            const float *in = from + (size_t)((row) + r) * 3 * HIDDEN + j * 3 * LANES;                              \
            size_t at = (size_t)((row) + r) * HIDDEN + j * LANES;                                                   \
            vec reset = sigmoid(load(in) + tile[r][0]), update = sigmoid(load(in + LANES) + tile[r][1]);            \
            vec made = tanh_of(load(in + 2 * LANES) + reset * tile[r][2]);                                          \
            store(new + at, made + update * (load(old + at) - made));                                               \
        }                                                                                                           \
    } while (0)
        OVER_ROWS(BATCH, STEP_BLOCK);
    }
}

static void forward(int plan, const float *x, float *out) {
    if (plan) project(3, HIDDEN, INPUT, STEPS * BATCH, x, wx, bias_x, projected);
    for (int t = 0; t < STEPS; t++) {
        if (!plan) project(3, HIDDEN, INPUT, BATCH, x + (size_t)t * BATCH * INPUT, wx, bias_x, projected);
        step(projected + (plan ? (size_t)t * BATCH * 3 * HIDDEN : 0), t ? out + (size_t)(t - 1) * BATCH * HIDDEN : zeros,
             out + (size_t)t * BATCH * HIDDEN);
    }
}

/* lstm_floor.c - an LSTM layer by hand: x [STEPS, BATCH, INPUT] to all hidden states [STEPS, BATCH, HIDDEN].
 * weights: w_ih [4 HIDDEN, INPUT], w_hh [4 HIDDEN, HIDDEN], b_ih, b_hh. The four gates of 16 hidden units are one panel, so
 * that a step's state is updated from registers. */
#include "floor.h"

static float *wx, *wh, *bias, *zeros, *c, *projected;

void prepare(const float *const *weights) {
    wx = pack(4, HIDDEN, INPUT, weights[0]), wh = pack(4, HIDDEN, HIDDEN, weights[1]);
    bias = pack_bias(4, HIDDEN, weights[2], weights[3]);
    zeros = floats(BATCH * HIDDEN), c = floats(BATCH * HIDDEN);
    projected = floats((size_t)STEPS * BATCH * 4 * HIDDEN);
}

static void step(int plan, const float *x, const float *from, const float *old, float *new) {
    for (int j = 0; j < HIDDEN / LANES; j++) {
#define STEP_BLOCK(rows, row)                                                                                        \
    do {                                                                                                             \
        vec tile[MOST_ROWS][4];                                                                                      \
        for (int r = 0; r < (rows); r++)                                                                             \
            for (int g = 0; g < 4; g++)                                                                              \
                tile[r][g] = load((plan ? from + (size_t)((row) + r) * 4 * HIDDEN : bias) + (j * 4 + g) * LANES);    \
        if (!plan) multiply(rows, 4, INPUT, x + (size_t)(row) * INPUT, INPUT, wx + (size_t)j * 4 * LANES * INPUT, tile); \
        multiply(rows, 4, HIDDEN, old + (size_t)(row) * HIDDEN, HIDDEN, wh + (size_t)j * 4 * LANES * HIDDEN, tile);  \
        for (int r = 0; r < (rows); r++) {                                                                           \
            size_t at = (size_t)((row) + r) * HIDDEN + j * LANES;                                                    \
            vec cell = sigmoid(tile[r][1]) * load(c + at) + sigmoid(tile[r][0]) * tanh_of(tile[r][2]);               \
            store(c + at, cell);                                                                                     \
            store(new + at, sigmoid(tile[r][3]) * tanh_of(cell));                                                    \
        }                                                                                                            \
    } while (0)
        OVER_ROWS(BATCH, STEP_BLOCK);
    }
}

static void forward(int plan, const float *x, float *out) {
    memset(c, 0, sizeof(float) * BATCH * HIDDEN);
    if (plan) project(4, HIDDEN, INPUT, STEPS * BATCH, x, wx, bias, projected);
    for (int t = 0; t < STEPS; t++)
        step(plan, x + (size_t)t * BATCH * INPUT, projected + (size_t)t * BATCH * 4 * HIDDEN,
             t ? out + (size_t)(t - 1) * BATCH * HIDDEN : zeros, out + (size_t)t * BATCH * HIDDEN);
}

/* ind_rnn_floor.c - an IndRNN by hand: each unit reads only its own state. weights: w [HIDDEN, INPUT], bias, recurrent
 * [HIDDEN]; HIDDEN is a multiple of 64. */
#include "floor.h"

static float *w, *bias, *projected, *h;
static const float *recurrent;

void prepare(const float *const *weights) {
    w = pack(4, HIDDEN / 4, INPUT, weights[0]), bias = pack_bias(4, HIDDEN / 4, weights[1], NULL);
    recurrent = pack_bias(4, HIDDEN / 4, weights[2], NULL);
    projected = floats((size_t)STEPS * BATCH * HIDDEN), h = floats(BATCH * HIDDEN);
}

static void forward(int plan, const float *x, float *out) {
    memset(h, 0, sizeof(float) * BATCH * HIDDEN);
    if (plan) project(4, HIDDEN / 4, INPUT, STEPS * BATCH, x, w, bias, projected);
    for (int t = 0; t < STEPS; t++) {
        if (!plan) project(4, HIDDEN / 4, INPUT, BATCH, x + (size_t)t * BATCH * INPUT, w, bias, projected);
        const float *in = projected + (plan ? (size_t)t * BATCH * HIDDEN : 0);
        for (int b = 0; b < BATCH; b++)
            for (int j = 0; j < HIDDEN; j += LANES) { /* pack interleaves four quarters of the units */
                size_t at = (size_t)b * HIDDEN + j, unit = j / (4 * LANES) * LANES + j / LANES % 4 * (HIDDEN / 4);
                vec state = relu(load(in + at) + load(recurrent + j) * load(h + at));
                store(h + at, state);
                store(out + (size_t)(t * BATCH + b) * HIDDEN + unit, state);
            }
    }
}

/* min_gru_floor.c - a minGRU by hand: neither gate nor candidate depends on the state. weights: w_z [HIDDEN, INPUT],
 * b_z, w_h, b_h. */
#include "floor.h"

static float *w, *bias, *projected, *h;

void prepare(const float *const *weights) {
    float *both = floats((size_t)2 * HIDDEN * INPUT), *biases = floats(2 * HIDDEN);
    memcpy(both, weights[0], sizeof(float) * HIDDEN * INPUT);
    memcpy(both + HIDDEN * INPUT, weights[2], sizeof(float) * HIDDEN * INPUT);
    memcpy(biases, weights[1], sizeof(float) * HIDDEN);
    memcpy(biases + HIDDEN, weights[3], sizeof(float) * HIDDEN);
    w = pack(2, HIDDEN, INPUT, both), bias = pack_bias(2, HIDDEN, biases, NULL);
    projected = floats((size_t)STEPS * BATCH * 2 * HIDDEN), h = floats(BATCH * HIDDEN);
    free(both), free(biases);
}

static void forward(int plan, const float *x, float *out) {
    memset(h, 0, sizeof(float) * BATCH * HIDDEN);
    if (plan) project(2, HIDDEN, INPUT, STEPS * BATCH, x, w, bias, projected);
    for (int t = 0; t < STEPS; t++) {
        if (!plan) project(2, HIDDEN, INPUT, BATCH, x + (size_t)t * BATCH * INPUT, w, bias, projected);
        const float *in = projected + (plan ? (size_t)t * BATCH * 2 * HIDDEN : 0);
        for (int b = 0; b < BATCH; b++)
            for (int j = 0; j < HIDDEN; j += LANES) {
                size_t at = (size_t)b * HIDDEN + j;
                const float *gate = in + (size_t)b * 2 * HIDDEN + j * 2;
                vec z = sigmoid(load(gate)), state = (1.f - z) * load(h + at) + z * load(gate + LANES);
                store(h + at, state);
                store(out + (size_t)t * BATCH * HIDDEN + at, state);
            }
    }
}

/* sru_floor.c - a simple recurrent unit by hand: gates use the cell state only element by element. weights: w [3
 * HIDDEN, INPUT] (candidate, forget, reset), v_f, v_r, b_f, b_r [HIDDEN]; INPUT is HIDDEN. */
#include "floor.h"

static float *w, *no_bias, *projected, *c;
static const float *v_f, *v_r, *b_f, *b_r;

void prepare(const float *const *weights) {
    w = pack(3, HIDDEN, HIDDEN, weights[0]);
    v_f = weights[1], v_r = weights[2], b_f = weights[3], b_r = weights[4];
    no_bias = floats(3 * HIDDEN), projected = floats((size_t)STEPS * BATCH * 3 * HIDDEN), c = floats(BATCH * HIDDEN);
}

static void forward(int plan, const float *x, float *out) {
    memset(c, 0, sizeof(float) * BATCH * HIDDEN);
    if (plan) project(3, HIDDEN, HIDDEN, STEPS * BATCH, x, w, no_bias, projected);
    for (int t = 0; t < STEPS; t++) {
        if (!plan) project(3, HIDDEN, HIDDEN, BATCH, x + (size_t)t * BATCH * HIDDEN, w, no_bias, projected);
        const float *in = projected + (plan ? (size_t)t * BATCH * 3 * HIDDEN : 0);
        for (int b = 0; b < BATCH; b++)
            for (int j = 0; j < HIDDEN; j += LANES) {
                size_t at = (size_t)b * HIDDEN + j, now = (size_t)t * BATCH * HIDDEN + at;
                const float *gate = in + (size_t)b * 3 * HIDDEN + j * 3;
                vec cell = load(c + at), candidate = load(gate);
                vec forget = sigmoid(load(gate + LANES) + load(v_f + j) * cell + load(b_f + j));
                vec reset = sigmoid(load(gate + 2 * LANES) + load(v_r + j) * cell + load(b_r + j));
                cell = forget * cell + (1.f - forget) * candidate;
                store(c + at, cell);
                store(out + now, reset * cell + (1.f - reset) * load(x + now));
            }
    }
}

/* transducer_floor.c - decoder_models.Transducer by hand: x [FRAMES, ENCODED] to labels.
 * weights: embed [LABELS, HIDDEN]; LSTM w_ih [4 HIDDEN, HIDDEN], w_hh, b_ih, b_hh; from_encoder [HIDDEN, ENCODED], its bias;
 * from_predictor [HIDDEN, HIDDEN], its bias; joint [LABELS, HIDDEN], its bias. All frames are multiplied at first, and the
 * predictor's state when a label changes it. */
#include "decoder.h"

static float *gates, *gate_bias, *encoder, *encoder_bias, *predictor, *predictor_bias, *joint, *joint_bias;
static float *frames, *in, *h, *c, *predicted, *joined, *scores;
static const float *embed;

void prepare(const float *const *weights) {
    embed = weights[0];
    gates = pack_both(4, HIDDEN, HIDDEN, weights[1], weights[2]), gate_bias = pack_bias(4, HIDDEN, weights[3], weights[4]);
    encoder = pack_wide(HIDDEN, ENCODED, weights[5]), encoder_bias = pad(HIDDEN, weights[6], 0);
    predictor = pack_wide(HIDDEN, HIDDEN, weights[7]), predictor_bias = pad(HIDDEN, weights[8], 0);
    joint = pack_wide(LABELS, HIDDEN, weights[9]), joint_bias = pad(LABELS, weights[10], LEAST);
    frames = floats(FRAMES * PADDED(HIDDEN)), in = floats(2 * HIDDEN), h = floats(HIDDEN), c = floats(HIDDEN);
    predicted = floats(PADDED(HIDDEN)), joined = floats(HIDDEN), scores = floats(PADDED(LABELS));
}

/* Update the predictor's state by a label, and multiply it for the joint net. */
static void predict(int label) {
    memcpy(in, embed + (size_t)label * HIDDEN, sizeof(float) * HIDDEN);
    memcpy(in + HIDDEN, h, sizeof(float) * HIDDEN);
    for (int j = 0; j < HIDDEN / LANES; j++) {
        vec gate[1][4];
        for (int g = 0; g < 4; g++) gate[0][g] = load(gate_bias + (j * 4 + g) * LANES);
        multiply(1, 4, 2 * HIDDEN, in, 0, gates + (size_t)j * 4 * LANES * 2 * HIDDEN, gate);
        vec cell = sigmoid(gate[0][1]) * load(c + j * LANES) + sigmoid(gate[0][0]) * tanh_of(gate[0][2]);
        store(c + j * LANES, cell);
        store(h + j * LANES, sigmoid(gate[0][3]) * tanh_of(cell));
    }
    product(1, HIDDEN, HIDDEN, h, predictor, predictor_bias, predicted);
}

static void forward(int plan, const float *x, float *out) {
    (void)plan;
    int written = 0;
    memset(h, 0, sizeof(float) * HIDDEN), memset(c, 0, sizeof(float) * HIDDEN);
    product(FRAMES, HIDDEN, ENCODED, x, encoder, encoder_bias, frames);
    predict(0);
    for (int t = 0; t < FRAMES; t++)
        for (int emitted = 0; emitted < MOST; emitted++) {
            for (int j = 0; j < HIDDEN; j += LANES)
                store(joined + j, tanh_of(load(frames + t * PADDED(HIDDEN) + j) + load(predicted + j)));
            product(1, LABELS, HIDDEN, joined, joint, joint_bias, scores);
            int label = argmax(PADDED(LABELS), scores);
            if (label == 0) break;
            if (written < RESULTS) out[written++] = (float)label;
            predict(label);
        }
    while (written < RESULTS) out[written++] = -1;
}

/* greedy_floor.c - cell_models.GreedyDecoder by hand: x [SOURCE, INPUT] to the scores of the last word and the words.
 * weights: encode [HIDDEN, INPUT], its bias; embed [WORDS, HIDDEN]; GRU w_ih [3 HIDDEN, 2 HIDDEN], w_hh, b_ih, b_hh; score
 * [WORDS, HIDDEN], its bias. */
#include "decoder.h"

enum { FILLED = (SOURCE + LANES - 1) / LANES * LANES };
static float *encode, *encode_bias, *wx, *wh, *bias_x, *bias_h, *score, *score_bias;
static float *encoded, *memory, *columns, *in, *h, *scores;
static const float *embed;

void prepare(const float *const *weights) {
    encode = pack_wide(HIDDEN, INPUT, weights[0]), encode_bias = pad(HIDDEN, weights[1], 0), embed = weights[2];
    wx = pack(3, HIDDEN, 2 * HIDDEN, weights[3]), wh = pack(3, HIDDEN, HIDDEN, weights[4]);
    bias_x = pack_bias(3, HIDDEN, weights[5], NULL), bias_h = pack_bias(3, HIDDEN, weights[6], NULL);
    score = pack_wide(WORDS, HIDDEN, weights[7]), score_bias = pad(WORDS, weights[8], LEAST);
    encoded = floats(SOURCE * PADDED(HIDDEN)), memory = floats(SOURCE * HIDDEN), columns = floats(HIDDEN * FILLED);
    in = floats(2 * HIDDEN), h = floats(2 * HIDDEN), scores = floats(PADDED(WORDS));
}

/* Encode the source, in rows and in columns, and set h to the mean of the rows. */
static void read_source(const float *x) {
    product(SOURCE, HIDDEN, INPUT, x, encode, encode_bias, encoded);
    memset(h, 0, sizeof(float) * HIDDEN);
    for (int s = 0; s < SOURCE; s++)
        for (int j = 0; j < HIDDEN; j += LANES) {
            vec made = tanh_of(load(encoded + s * PADDED(HIDDEN) + j));
            store(memory + s * HIDDEN + j, made);
            store(h + j, load(h + j) + made);
            for (int l = 0; l < LANES; l++) columns[(j + l) * FILLED + s] = made[l];
        }
    for (int j = 0; j < HIDDEN; j += LANES) store(h + j, load(h + j) * (1.f / SOURCE));
}

/* Compute the source's rows, weighted by the softmax of their products with h. */
static void attend(const float *h, float *context) {
    vec weights[FILLED / LANES] = {{0}}, sums[HIDDEN / LANES] = {{0}};
    float each[FILLED], largest;
    for (int k = 0; k < HIDDEN; k++)
        for (int s = 0; s < FILLED / LANES; s++) weights[s] += h[k] * load(columns + k * FILLED + s * LANES);
    for (int s = 0; s < FILLED / LANES; s++) store(each + s * LANES, weights[s]);
    for (int s = SOURCE; s < FILLED; s++) each[s] = LEAST;
    float scale = 1 / exponentials(FILLED, each, each, &largest);
    for (int s = 0; s < SOURCE; s++)
        for (int j = 0; j < HIDDEN / LANES; j++) sums[j] += each[s] * load(memory + s * HIDDEN + j * LANES);
    for (int j = 0; j < HIDDEN / LANES; j++) store(context + j * LANES, sums[j] * scale);
}

static void step(const float *x, const float *old, float *new) {
    for (int j = 0; j < HIDDEN / LANES; j++) {
        vec of_x[1][4], of_h[1][4];
        for (int g = 0; g < 3; g++) {
            of_x[0][g] = load(bias_x + (j * 3 + g) * LANES);
            of_h[0][g] = load(bias_h + (j * 3 + g) * LANES);
        }
        multiply(1, 3, 2 * HIDDEN, x, 0, wx + (size_t)j * 3 * LANES * 2 * HIDDEN, of_x);
        multiply(1, 3, HIDDEN, old, 0, wh + (size_t)j * 3 * LANES * HIDDEN, of_h);
        vec reset = sigmoid(of_x[0][0] + of_h[0][0]), update = sigmoid(of_x[0][1] + of_h[0][1]);
        vec made = tanh_of(of_x[0][2] + reset * of_h[0][2]);
        store(new + j * LANES, made + update * (load(old + j * LANES) - made));
    }
}

static void forward(int plan, const float *x, float *out) {
    (void)plan;
    read_source(x);
    int word = 0, written = WORDS;
    for (int t = 0; t < STEPS; t++) {
        const float *old = h + t % 2 * HIDDEN;
        float *new = h + (t + 1) % 2 * HIDDEN;
        memcpy(in, embed + (size_t)word * HIDDEN, sizeof(float) * HIDDEN);
        attend(old, in + HIDDEN);
        step(in, old, new);
        product(1, WORDS, HIDDEN, new, score, score_bias, scores);
        word = argmax(PADDED(WORDS), scores);
        if (word == 1) break;
        if (written < RESULTS) out[written++] = (float)word;
    }
    memcpy(out, scores, sizeof(float) * WORDS);
}

/* conv_lstm_floor.c - a ConvLSTM by hand: x [STEPS, BATCH, INPUT, IMAGE, IMAGE] to the last hidden state, 3 by 3
 * windows. weights: w [4 HIDDEN, INPUT + HIDDEN, 3, 3], bias. Pixels are stored channel by channel inside a border of
 * zeros, so that a convolution is nine products. */
#include "floor.h"

enum { IMAGE = 16, SIDE = IMAGE + 2, CHANNELS = INPUT + HIDDEN };

static float *w[9], *bias, *image[2], *c;

void prepare(const float *const *weights) {
    float *tap = floats((size_t)4 * HIDDEN * CHANNELS);
    for (int t = 0; t < 9; t++) {
        for (int i = 0; i < 4 * HIDDEN * CHANNELS; i++) tap[i] = weights[0][i * 9 + t];
        w[t] = pack(4, HIDDEN, CHANNELS, tap);
    }
    free(tap);
    bias = pack_bias(4, HIDDEN, weights[1], NULL);
    for (int i = 0; i < 2; i++) image[i] = floats((size_t)BATCH * SIDE * SIDE * CHANNELS);
    c = floats((size_t)BATCH * IMAGE * IMAGE * HIDDEN);
}

static float *pixel(float *of, int b, int y, int x) { return of + (((size_t)b * SIDE + y + 1) * SIDE + x + 1) * CHANNELS; }

static void line(int b, int y, float *old, float *new) {
    for (int j = 0; j < HIDDEN / LANES; j++) {
#define LINE_BLOCK(rows, row)                                                                                         \
    do {                                                                                                              \
        vec tile[MOST_ROWS][4];                                                                                       \
        for (int r = 0; r < (rows); r++)                                                                              \
            for (int g = 0; g < 4; g++) tile[r][g] = load(bias + (j * 4 + g) * LANES);                                \
        for (int t = 0; t < 9; t++)                                                                                   \
            multiply(rows, 4, CHANNELS, pixel(old, b, y + t / 3 - 1, (row) + t % 3 - 1), CHANNELS,                    \
                     w[t] + (size_t)j * 4 * LANES * CHANNELS, tile);                                                  \
        for (int r = 0; r < (rows); r++) {                                                                            \
            float *cell = c + (((size_t)b * IMAGE + y) * IMAGE + (row) + r) * HIDDEN + j * LANES;                     \
            vec state = sigmoid(tile[r][1]) * load(cell) + sigmoid(tile[r][0]) * tanh_of(tile[r][2]);                 \
            store(cell, state);                                                                                       \
            store(pixel(new, b, y, (row) + r) + INPUT + j * LANES, sigmoid(tile[r][3]) * tanh_of(state));             \
        }                                                                                                             \
    } while (0)
        OVER_ROWS(IMAGE, LINE_BLOCK);
    }
}

static void forward(int plan, const float *x, float *out) {
    (void)plan; /* there is only one */
    memset(c, 0, sizeof(float) * BATCH * IMAGE * IMAGE * HIDDEN);
    memset(image[0], 0, sizeof(float) * BATCH * SIDE * SIDE * CHANNELS);
    for (int t = 0; t < STEPS; t++)
        for (int b = 0; b < BATCH; b++) {
            for (int k = 0; k < INPUT; k++)
                for (int y = 0; y < IMAGE; y++)
                    for (int i = 0; i < IMAGE; i++) pixel(image[t & 1], b, y, i)[k] = *x++;
            for (int y = 0; y < IMAGE; y++) line(b, y, image[t & 1], image[~t & 1]);
        }
    for (int b = 0; b < BATCH; b++)
        for (int k = 0; k < HIDDEN; k++)
            for (int y = 0; y < IMAGE; y++)
                for (int i = 0; i < IMAGE; i++) *out++ = pixel(image[STEPS & 1], b, y, i)[INPUT + k];
}

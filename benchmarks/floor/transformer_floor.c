/* transformer_floor.c - decoder_models.TransformerDecoder by hand: the first word to STEPS words and the last scores.
 * weights: embed [WORDS, WIDTH], position [STEPS, WIDTH]; of each layer two norms, qkv, out, up and down with their biases;
 * the last norm; score, its bias. The cache holds keys in columns and values in rows. */
#include "decoder.h"

enum { SIZE = WIDTH / HEADS, FILLED = (STEPS + LANES - 1) / LANES * LANES };
typedef struct {
    const float *gain[2], *shift[2];
    float *qkv, *qkv_bias, *out, *out_bias, *up, *up_bias, *down, *down_bias, *keys, *values;
} layer;
static layer layers[LAYERS];
static const float *embed, *position, *gain, *shift;
static float *score, *score_bias, *x, *normal, *qkv, *attended, *inner, *added, *scores;

void prepare(const float *const *w) {
    embed = *w++, position = *w++;
    for (layer *l = layers; l < layers + LAYERS; l++, w += 12) {
        for (int i = 0; i < 2; i++) l->gain[i] = w[2 * i], l->shift[i] = w[2 * i + 1];
        l->qkv = pack_wide(3 * WIDTH, WIDTH, w[4]), l->qkv_bias = pad(3 * WIDTH, w[5], 0);
        l->out = pack_wide(WIDTH, WIDTH, w[6]), l->out_bias = pad(WIDTH, w[7], 0);
        l->up = pack_wide(INNER, WIDTH, w[8]), l->up_bias = pad(INNER, w[9], 0);
        l->down = pack_wide(WIDTH, INNER, w[10]), l->down_bias = pad(WIDTH, w[11], 0);
        l->keys = floats((size_t)WIDTH * FILLED), l->values = floats((size_t)STEPS * WIDTH);
    }
    gain = w[0], shift = w[1], score = pack_wide(WORDS, WIDTH, w[2]), score_bias = pad(WORDS, w[3], LEAST);
    x = floats(PADDED(WIDTH)), normal = floats(PADDED(WIDTH)), qkv = floats(PADDED(3 * WIDTH));
    attended = floats(PADDED(WIDTH)), inner = floats(PADDED(INNER)), added = floats(PADDED(WIDTH));
    scores = floats(PADDED(WORDS));
}

static void attend(layer *l, int step) {
    int words = step + 1, filled = (words + LANES - 1) / LANES * LANES;
    float each[FILLED], largest;
    for (int k = 0; k < WIDTH; k++) l->keys[k * FILLED + step] = qkv[WIDTH + k];
    memcpy(l->values + (size_t)step * WIDTH, qkv + 2 * WIDTH, sizeof(float) * WIDTH);
    for (int from = 0; from < WIDTH; from += SIZE) {
        for (int at = 0; at < filled; at += LANES) {
            vec sum[4] = {{0}};
            for (int k = 0; k < SIZE; k++) sum[k % 4] += qkv[from + k] * load(l->keys + (from + k) * FILLED + at);
            store(each + at, (sum[0] + sum[1] + (sum[2] + sum[3])) * (1 / __builtin_sqrtf(SIZE)));
        }
        for (int s = words; s < filled; s++) each[s] = LEAST;
        float scale = 1 / exponentials(filled, each, each, &largest);
        for (int j = from; j < from + SIZE; j += LANES) {
            vec sum[4] = {{0}};
            const float *values = l->values + j;
            int s = 0;
            for (; s + 4 <= words; s += 4)
                for (int i = 0; i < 4; i++) sum[i] += each[s + i] * load(values + (size_t)(s + i) * WIDTH);
            for (; s < words; s++) sum[0] += each[s] * load(values + (size_t)s * WIDTH);
            store(attended + j, (sum[0] + sum[1] + (sum[2] + sum[3])) * scale);
        }
    }
}

static void add_to_x(void) {
    for (int i = 0; i < WIDTH; i += LANES) store(x + i, load(x + i) + load(added + i));
}

static void forward(int plan, const float *start, float *out) {
    (void)plan;
    int word = (int)start[0];
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < WIDTH; i += LANES)
            store(x + i, load(embed + (size_t)word * WIDTH + i) + load(position + (size_t)step * WIDTH + i));
        for (layer *l = layers; l < layers + LAYERS; l++) {
            normalize(WIDTH, x, l->gain[0], l->shift[0], normal);
            product(1, 3 * WIDTH, WIDTH, normal, l->qkv, l->qkv_bias, qkv);
            attend(l, step);
            product(1, WIDTH, WIDTH, attended, l->out, l->out_bias, added);
            add_to_x();
            normalize(WIDTH, x, l->gain[1], l->shift[1], normal);
            product(1, INNER, WIDTH, normal, l->up, l->up_bias, inner);
            for (int i = 0; i < INNER; i += LANES) store(inner + i, relu(load(inner + i)));
            product(1, WIDTH, INNER, inner, l->down, l->down_bias, added);
            add_to_x();
        }
        normalize(WIDTH, x, gain, shift, normal);
        product(1, WORDS, WIDTH, normal, score, score_bias, scores);
        word = argmax(PADDED(WORDS), scores);
        out[step] = (float)word;
    }
    memcpy(out + STEPS, scores, sizeof(float) * WORDS);
}

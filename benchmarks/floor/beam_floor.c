/* beam_floor.c - decoder_models.BeamSearch by hand: the first word to BEAM sentences of STEPS words more, and their scores.
 * weights: embed [WORDS, HIDDEN]; LSTM w_ih [4 HIDDEN, HIDDEN], w_hh, b_ih, b_hh; score [WORDS, HIDDEN], its bias.
 * Sentences are kept as words and the places of the sentences that they extend. */
#include "decoder.h"
#include <math.h>

typedef struct {
    float score;
    int row, word;
} choice;
static float *gates, *bias, *score, *score_bias, *in, *h, *c, *old, *scores;
static const float *embed;

void prepare(const float *const *weights) {
    embed = weights[0];
    gates = pack_both(4, HIDDEN, HIDDEN, weights[1], weights[2]), bias = pack_bias(4, HIDDEN, weights[3], weights[4]);
    score = pack_wide(WORDS, HIDDEN, weights[5]), score_bias = pad(WORDS, weights[6], LEAST);
    in = floats(BEAM * 2 * HIDDEN), h = floats(BEAM * HIDDEN), c = floats(BEAM * HIDDEN), old = floats(BEAM * HIDDEN);
    scores = floats(BEAM * PADDED(WORDS));
}

static void step(void) {
    for (int j = 0; j < HIDDEN / LANES; j++) {
        vec tile[BEAM][4];
        for (int r = 0; r < BEAM; r++)
            for (int g = 0; g < 4; g++) tile[r][g] = load(bias + (j * 4 + g) * LANES);
        multiply_blocks(BEAM, 2 * HIDDEN, in, 2 * HIDDEN, gates + (size_t)j * 4 * LANES * 2 * HIDDEN, tile);
        for (int r = 0; r < BEAM; r++) {
            int at = r * HIDDEN + j * LANES;
            vec cell = sigmoid(tile[r][1]) * load(old + at) + sigmoid(tile[r][0]) * tanh_of(tile[r][2]);
            store(c + at, cell);
            store(h + at, sigmoid(tile[r][3]) * tanh_of(cell));
        }
    }
}

static void insert(choice *best, choice made) {
    int i = BEAM - 1;
    for (; i > 0 && best[i - 1].score < made.score; i--) best[i] = best[i - 1];
    best[i] = made;
}

/* Insert the words of a sentence that are better than the worst of the best. */
static void choose_words(int row, const float *x, float added, choice *best) {
    for (int j = 0; j < PADDED(WORDS); j += WIDE) {
        vec most = larger(larger(load(x + j), load(x + j + LANES)), larger(load(x + j + 2 * LANES), load(x + j + 3 * LANES)));
        if (max_of(most) + added <= best[BEAM - 1].score) continue;
        for (int i = j; i < j + WIDE; i++)
            if (x[i] + added > best[BEAM - 1].score) insert(best, (choice){x[i] + added, row, i});
    }
}

static void forward(int plan, const float *start, float *out) {
    (void)plan;
    choice found[STEPS + 1][BEAM];
    int finished[STEPS + 1][BEAM] = {{0}}, steps = 0;
    for (int b = 0; b < BEAM; b++) found[0][b] = (choice){b ? LEAST : 0, 0, (int)start[0]};
    memset(h, 0, sizeof(float) * BEAM * HIDDEN), memset(c, 0, sizeof(float) * BEAM * HIDDEN);
    for (int all = 0; steps < STEPS && all < BEAM; steps++) {
        const choice *last = found[steps];
        choice *best = found[steps + 1];
        for (int b = 0; b < BEAM; b++) {
            memcpy(in + b * 2 * HIDDEN, embed + (size_t)last[b].word * HIDDEN, sizeof(float) * HIDDEN);
            memcpy(in + (b * 2 + 1) * HIDDEN, h + last[b].row * HIDDEN, sizeof(float) * HIDDEN);
            memcpy(old + b * HIDDEN, c + last[b].row * HIDDEN, sizeof(float) * HIDDEN);
            best[b] = (choice){LEAST, 0, 0};
        }
        step();
        product(BEAM, WORDS, HIDDEN, h, score, score_bias, scores);
        for (int b = 0; b < BEAM; b++) {
            const float *x = scores + b * PADDED(WORDS);
            float largest;
            if (finished[steps][b]) {
                if (last[b].score > best[BEAM - 1].score) insert(best, (choice){last[b].score, b, 1});
            } else if (last[b].score > LEAST / 2) {
                float total = exponentials(PADDED(WORDS), x, NULL, &largest);
                choose_words(b, x, last[b].score - largest - logf(total), best);
            }
        }
        all = 0;
        for (int b = 0; b < BEAM; b++) all += finished[steps + 1][b] = finished[steps][best[b].row] || best[b].word == 1;
    }
    for (int b = 0; b < BEAM; b++, out += steps + 1)
        for (int t = steps, row = b; t >= 0; row = found[t--][row].row) out[t] = (float)found[t][row].word;
    for (int b = 0; b < BEAM; b++) out[b] = found[steps][b].score;
}

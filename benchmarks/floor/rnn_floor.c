/* rnn_floor.c - a floor by hand: how fast one core runs h' = sigmoid(h Whh + x Wih + b) when a person writes the C.
 *
 *   rnn_floor BATCH INPUT HIDDEN STEPS REPEATS   ->  microseconds per sequence, median of the repeats, one line for each
 *   plan: `fused` multiplies x and h in the step; `hoisted` multiplies all x at once before the loop.
 *
 * Weights are packed before the measurement. This is a yardstick, not a design: sizes are fixed per run, inputs are
 * finite, and nothing is checked. HIDDEN must be a multiple of the vector width. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __AVX512F__
enum { LANES = 16, ROWS = 6, MOST_ROWS = 6 };
#else /* vectors half as wide, and half as many registers for sums */
enum { LANES = 8, ROWS = 3, MOST_ROWS = 6 };
#endif
enum { COLUMNS = 4, PANEL = LANES * COLUMNS };
typedef float vec __attribute__((vector_size(4 * LANES)));
typedef int ints __attribute__((vector_size(4 * LANES)));

typedef struct matrix { /* K x N, in panels of PANEL columns: panel j holds its K rows one after the other */
    int rows, columns;
    float *data;
} matrix;

static float *floats(size_t count) {
    float *made = aligned_alloc(64, (count * sizeof(float) + 63) / 64 * 64);
    if (!made) abort();
    return made;
}

static float *noise(size_t count, float scale) {
    float *made = floats(count);
    for (size_t i = 0; i < count; i++) made[i] = scale * ((float)rand() / (float)RAND_MAX - 0.5f);
    return made;
}

static matrix weights(int rows, int columns) {
    int padded = (columns + PANEL - 1) / PANEL * PANEL;
    return (matrix){rows, columns, noise((size_t)rows * padded, 0.02f)};
}

/* Return e^x: a polynomial in the fraction times 2^n, which is added to the exponent bits. */
static inline vec exp_of(vec x) {
    for (int i = 0; i < LANES; i++) x[i] = x[i] < 88.f ? x[i] : 88.f;
    for (int i = 0; i < LANES; i++) x[i] = x[i] > -87.f ? x[i] : -87.f;
    vec magic = (vec){0} + 0x1.8p23f; /* adding it rounds to an integer in the low bits */
    vec shifted = x * 0x1.715476p0f + magic;
    vec n = shifted - magic;
    vec r = x - n * 0x1.62e4p-1f - n * 0x1.7f7d1cp-20f;
    vec p = r * 0x1.6b1p-10f + 0x1.1239p-7f;
    p = p * r + 0x1.5555p-5f;
    p = p * r + 0x1.5555p-3f;
    p = p * r + 0.5f;
    p = p * r + 1.f;
    p = p * r + 1.f;
    return (vec)((ints)p + ((ints)shifted << 23));
}

static inline vec sigmoid(vec x) { return 1.f / (1.f + exp_of(-x)); }

static inline vec load(const float *p) { vec v; memcpy(&v, p, sizeof v); return v; }
static inline void store(float *p, vec v) { memcpy(p, &v, sizeof v); }

/* Compute tile[r][c] += x[r][:] w[:][c] over one panel. `rows` is a constant at each call. */
static inline __attribute__((always_inline)) void multiply(int rows, const float *x, const matrix *w, int column, vec tile[MOST_ROWS][COLUMNS]) {
    const float *panel = w->data + (size_t)column * w->rows;
    for (int k = 0; k < w->rows; k++, panel += PANEL) {
        vec b[COLUMNS];
        for (int c = 0; c < COLUMNS; c++) b[c] = load(panel + c * LANES);
        for (int r = 0; r < rows; r++) {
            vec a = (vec){0} + x[(size_t)r * w->rows + k];
            for (int c = 0; c < COLUMNS; c++) tile[r][c] += a * b[c];
        }
    }
}

typedef struct step { /* out = f(start + x wx + h wh); wx or wh is NULL if the term is absent */
    const float *start;
    size_t start_stride; /* floats from one row of start to the next: 0 for a bias */
    const float *x, *h;
    const matrix *wx, *wh;
    float *out;
    int activate;
} step;

static inline __attribute__((always_inline)) void block(const step *s, int rows, int row, int column, int width) {
    vec tile[MOST_ROWS][COLUMNS];
    int vectors = (width - column < PANEL ? width - column : PANEL) / LANES;
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < COLUMNS; c++)
            tile[r][c] = c < vectors ? load(s->start + (row + r) * s->start_stride + column + c * LANES) : (vec){0};
    if (s->wx) multiply(rows, s->x + (size_t)row * s->wx->rows, s->wx, column, tile);
    if (s->wh) multiply(rows, s->h + (size_t)row * s->wh->rows, s->wh, column, tile);
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < vectors; c++)
            store(s->out + (size_t)(row + r) * width + column + c * LANES, s->activate ? sigmoid(tile[r][c]) : tile[r][c]);
}

static void run(const step *s, int batch, int width) {
    for (int column = 0; column < width; column += PANEL) {
        int row = 0;
        for (; row + ROWS <= batch; row += ROWS) block(s, ROWS, row, column, width);
        switch (batch - row) {
        case 5: block(s, 5, row, column, width); break;
        case 4: block(s, 4, row, column, width); break;
        case 3: block(s, 3, row, column, width); break;
        case 2: block(s, 2, row, column, width); break;
        case 1: block(s, 1, row, column, width); break;
        }
    }
}

typedef struct net {
    int batch, hidden, steps;
    matrix wx, wh;
    const float *bias, *x;
    float *projected, *h[2];
} net;

static void fused(const net *n) {
    size_t inputs = (size_t)n->batch * n->wx.rows;
    memset(n->h[0], 0, sizeof(float) * n->batch * n->hidden);
    for (int t = 0; t < n->steps; t++)
        run(&(step){n->bias, 0, n->x + t * inputs, n->h[t & 1], &n->wx, &n->wh, n->h[~t & 1], 1}, n->batch, n->hidden);
}

static void hoisted(const net *n) {
    size_t state = (size_t)n->batch * n->hidden;
    memset(n->h[0], 0, sizeof(float) * state);
    run(&(step){n->bias, 0, n->x, NULL, &n->wx, NULL, n->projected, 0}, n->steps * n->batch, n->hidden);
    for (int t = 0; t < n->steps; t++)
        run(&(step){n->projected + t * state, n->hidden, NULL, n->h[t & 1], NULL, &n->wh, n->h[~t & 1], 1}, n->batch, n->hidden);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

static int ascending(const void *a, const void *b) {
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0) - (difference < 0);
}

/* Return the median time. A sample takes about 200 us, so that reading the clock costs nothing. */
static double median(void (*plan)(const net *), const net *n, int repeats) {
    double *times = malloc(sizeof *times * repeats), begin = now();
    if (!times) abort();
    plan(n);
    int calls = 1 + (int)(200 / (now() - begin + 1));
    for (int i = 0; i < repeats; i++) {
        begin = now();
        for (int c = 0; c < calls; c++) plan(n);
        times[i] = (now() - begin) / calls;
    }
    qsort(times, repeats, sizeof *times, ascending);
    double middle = times[repeats / 2];
    free(times);
    return middle;
}

/* Return the largest error in the hidden state of the first and the last sequence, against plain loops in double. */
static double error(const net *n) {
    size_t state = (size_t)n->batch * n->hidden;
    double *h = calloc(2 * state, sizeof *h), worst = 0;
    if (!h) abort();
    for (int t = 0; t < n->steps; t++)
        for (int b = 0; b < n->batch; b += n->batch > 1 ? n->batch - 1 : 1)
            for (int j = 0; j < n->hidden; j++) {
                const double *old = h + (t & 1) * state + (size_t)b * n->hidden;
                const float *x = n->x + ((size_t)t * n->batch + b) * n->wx.rows;
                size_t panel = j / PANEL * PANEL, lane = j % PANEL;
                double sum = n->bias[j];
                for (int k = 0; k < n->wx.rows; k++) sum += (double)x[k] * n->wx.data[panel * n->wx.rows + k * PANEL + lane];
                for (int k = 0; k < n->hidden; k++) sum += old[k] * n->wh.data[panel * n->wh.rows + k * PANEL + lane];
                h[(~t & 1) * state + (size_t)b * n->hidden + j] = 1 / (1 + exp(-sum));
            }
    for (int b = 0; b < n->batch; b += n->batch > 1 ? n->batch - 1 : 1)
        for (size_t i = (size_t)b * n->hidden; i < (size_t)(b + 1) * n->hidden; i++) {
            double off = fabs(n->h[n->steps & 1][i] - h[(n->steps & 1) * state + i]);
            if (off > worst) worst = off;
        }
    free(h);
    return worst;
}

int main(int argc, char **argv) {
    if (argc != 6) return fprintf(stderr, "rnn_floor BATCH INPUT HIDDEN STEPS REPEATS\n"), 2;
    int batch = atoi(argv[1]), input = atoi(argv[2]), hidden = atoi(argv[3]), steps = atoi(argv[4]);
    if (batch < 1 || input < 1 || steps < 1 || hidden < 1 || hidden % LANES) return fprintf(stderr, "bad sizes\n"), 2;
    size_t state = (size_t)batch * hidden;
    net n = {batch, hidden, steps, weights(input, hidden), weights(hidden, hidden), noise(hidden + PANEL, 0.02f),
             noise((size_t)steps * batch * input, 2), floats(state * steps), {floats(state), floats(state)}};
    void (*plans[])(const net *) = {fused, hoisted};
    static const char *const names[] = {"fused", "hoisted"};
    for (int p = 0; p < 2; p++) {
        double time = median(plans[p], &n, atoi(argv[5]));
        printf("%s %.3f\n", names[p], time);
        if (error(&n) > 1e-5) return fprintf(stderr, "%s is wrong by %g\n", names[p], error(&n)), 1;
    }
    return 0;
}

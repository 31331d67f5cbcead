// The programs of scalar_programs.py as a C programmer writes them, with the checks that Python's meaning asks for:
// 64-bit overflow, indices in range. Built at -O2 as a shared library; a check that fails aborts.
#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int64_t add(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        abort();
    return sum;
}

static int64_t mul(int64_t a, int64_t b)
{
    int64_t product;
    if (__builtin_mul_overflow(a, b, &product))
        abort();
    return product;
}

static void in_range(int64_t i, int64_t n)
{
    if (i < 0 || i >= n)
        abort();
}

typedef struct {
    int64_t n, room;
    int64_t *items;
} ints;

typedef struct {
    int64_t n, room;
    double *items;
} doubles;

static void *grown(void *items, int64_t *room, size_t size)
{
    *room = *room ? *room * 2 : 4;
    items = realloc(items, (size_t)*room * size);
    if (!items)
        abort();
    return items;
}

static void push(ints *list, int64_t value)
{
    if (list->n == list->room)
        list->items = grown(list->items, &list->room, sizeof(int64_t));
    list->items[list->n++] = value;
}

static void push_double(doubles *list, double value)
{
    if (list->n == list->room)
        list->items = grown(list->items, &list->room, sizeof(double));
    list->items[list->n++] = value;
}

static int64_t at(const ints *list, int64_t i)
{
    in_range(i, list->n);
    return list->items[i];
}

static double at_double(const doubles *list, int64_t i)
{
    in_range(i, list->n);
    return list->items[i];
}

void fizzbuzz(int64_t n, int64_t out[4])
{
    int64_t fizz = 0, buzz = 0, both = 0, total = 0;
    for (int64_t i = 1; i <= n; i++) {
        if (i % 15 == 0)
            both = add(both, 1);
        else if (i % 3 == 0)
            fizz = add(fizz, 1);
        else if (i % 5 == 0)
            buzz = add(buzz, 1);
        else
            total = add(total, i);
    }
    out[0] = fizz, out[1] = buzz, out[2] = both, out[3] = total;
}

int64_t edit_distance(const int64_t *a, int64_t n, const int64_t *b, int64_t m)
{
    ints previous = {0};
    for (int64_t j = 0; j <= m; j++)
        push(&previous, j);
    for (int64_t i = 0; i < n; i++) {
        ints current = {0};
        push(&current, add(i, 1));
        for (int64_t j = 0; j < m; j++) {
            int64_t best = add(at(&previous, add(j, 1)), 1);
            int64_t other = add(at(&current, j), 1);
            int64_t replaced = add(at(&previous, j), a[i] == b[j] ? 0 : 1);
            best = other < best ? other : best;
            push(&current, replaced < best ? replaced : best);
        }
        free(previous.items);
        previous = current;
    }
    int64_t result = at(&previous, previous.n - 1);
    free(previous.items);
    return result;
}

static const doubles *row(const doubles *rows, int64_t i, int64_t n)
{
    in_range(i, n);
    return &rows[i];
}

static doubles *rows_of(const double *items, int64_t n, int64_t width)
{
    doubles *rows = malloc((size_t)n * sizeof(doubles));
    if (!rows)
        abort();
    for (int64_t i = 0; i < n; i++)
        rows[i] = (doubles){width, width, (double *)items + i * width};
    return rows;
}

// all_transitions[states * states], all_emissions[states * symbols]; path[steps]
void viterbi(const int64_t *observed, int64_t steps, const double *start, int64_t states, const double *all_transitions,
             const double *all_emissions, int64_t symbols, int64_t *path)
{
    doubles *transition = rows_of(all_transitions, states, states), *emission = rows_of(all_emissions, states, symbols);
    doubles score = {0};
    int64_t *back = malloc((size_t)(steps * states) * sizeof(int64_t));
    if (!back)
        abort();
    for (int64_t s = 0; s < states; s++) {
        push_double(&score, start[s] + at_double(row(emission, s, states), observed[0]));
    }
    for (int64_t t = 1; t < steps; t++) {
        doubles new_score = {0};
        for (int64_t s = 0; s < states; s++) {
            double best = at_double(&score, 0) + at_double(row(transition, 0, states), s);
            int64_t arg = 0;
            for (int64_t p = 1; p < states; p++) {
                double candidate = at_double(&score, p) + at_double(row(transition, p, states), s);
                if (candidate > best)
                    best = candidate, arg = p;
            }
            push_double(&new_score, best + at_double(row(emission, s, states), observed[t]));
            back[t * states + s] = arg;
        }
        free(score.items);
        score = new_score;
    }
    int64_t best = 0;
    for (int64_t s = 1; s < states; s++)
        if (at_double(&score, s) > at_double(&score, best))
            best = s;
    for (int64_t t = steps - 1; t >= 0; t--) {
        path[t] = best;
        in_range(best, states);
        best = back[t * states + best];
    }
    free(score.items);
    free(back);
    free(transition);
    free(emission);
}

static bool same(const ints *a, const ints *b)
{
    if (a->n != b->n)
        return false;
    for (int64_t i = 0; i < a->n; i++)
        if (a->items[i] != b->items[i])
            return false;
    return true;
}

static ints extended(const ints *prefix, int64_t last)
{
    ints copy = {prefix->n + 1, prefix->n + 1, malloc((size_t)(prefix->n + 1) * sizeof(int64_t))};
    if (!copy.items)
        abort();
    if (prefix->n)
        memcpy(copy.items, prefix->items, (size_t)prefix->n * sizeof(int64_t));
    copy.items[prefix->n] = last;
    return copy;
}

typedef struct {
    int64_t n, room;
    ints *items;
} prefixes;

static int64_t place(prefixes *all, doubles *blank, doubles *other, ints prefix)
{
    for (int64_t j = 0; j < all->n; j++)
        if (same(&all->items[j], &prefix)) {
            free(prefix.items);
            return j;
        }
    if (all->n == all->room)
        all->items = grown(all->items, &all->room, sizeof(ints));
    all->items[all->n++] = prefix;
    push_double(blank, 0);
    push_double(other, 0);
    return all->n - 1;
}

// probabilities[steps * classes]; the best prefix goes to path, its length is the result
int64_t prefix_search(const double *probabilities, int64_t steps, int64_t classes, int64_t width, int64_t *path,
                      double *score)
{
    prefixes beam = {0};
    doubles blank = {0}, other = {0};
    place(&beam, &blank, &other, (ints){0});
    blank.items[0] = 1;
    for (int64_t t = 0; t < steps; t++) {
        const double *frame = probabilities + t * classes;
        prefixes grown_beam = {0};
        doubles new_blank = {0}, new_other = {0};
        for (int64_t i = 0; i < beam.n; i++) {
            const ints *prefix = &beam.items[i];
            double total = at_double(&blank, i) + at_double(&other, i);
            int64_t last = prefix->n ? prefix->items[prefix->n - 1] : -1;
            ints copy = extended(prefix, 0);
            copy.n--;
            int64_t j = place(&grown_beam, &new_blank, &new_other, copy);
            new_blank.items[j] += total * frame[0];
            if (last >= 0)
                new_other.items[j] += at_double(&other, i) * frame[last];
            for (int64_t c = 1; c < classes; c++) {
                double p = (c == last ? at_double(&blank, i) : total) * frame[c];
                j = place(&grown_beam, &new_blank, &new_other, extended(prefix, c));
                new_other.items[j] += p;
            }
        }
        for (int64_t i = 0; i < beam.n; i++)
            free(beam.items[i].items);
        beam.n = blank.n = other.n = 0;
        bool *taken = calloc((size_t)grown_beam.n, sizeof(bool));
        if (!taken)
            abort();
        for (int64_t k = 0; k < width && k < grown_beam.n; k++) {
            int64_t best = 0;
            for (int64_t j = 1; j < grown_beam.n; j++)
                if (at_double(&new_blank, j) + at_double(&new_other, j) >
                    at_double(&new_blank, best) + at_double(&new_other, best))
                    best = j;
            place(&beam, &blank, &other, grown_beam.items[best]);
            taken[best] = true;
            blank.items[k] = new_blank.items[best], other.items[k] = new_other.items[best];
            new_blank.items[best] = -1, new_other.items[best] = 0;
        }
        for (int64_t j = 0; j < grown_beam.n; j++)
            if (!taken[j])
                free(grown_beam.items[j].items);
        free(taken);
        free(grown_beam.items);
        free(new_blank.items);
        free(new_other.items);
    }
    int64_t length = beam.items[0].n;
    if (length)
        memcpy(path, beam.items[0].items, (size_t)length * sizeof(int64_t));
    *score = blank.items[0] + other.items[0];
    for (int64_t i = 0; i < beam.n; i++)
        free(beam.items[i].items);
    free(beam.items);
    free(blank.items);
    free(other.items);
    return length;
}

int64_t sieve(int64_t n)
{
    bool *prime = malloc((size_t)n);
    if (!prime)
        abort();
    memset(prime, 1, (size_t)n);
    in_range(1, n);
    prime[0] = prime[1] = false;
    for (int64_t i = 2; mul(i, i) < n; i = add(i, 1)) {
        in_range(i, n);
        if (prime[i])
            for (int64_t j = mul(i, i); j < n; j = add(j, i)) {
                in_range(j, n);
                prime[j] = false;
            }
    }
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        if (prime[i])
            count = add(count, 1);
    free(prime);
    return count;
}

typedef struct {
    int64_t n, room;
    char *items;
} text;

static void put(text *word, char c)
{
    if (word->n == word->room)
        word->items = grown(word->items, &word->room, 1);
    word->items[word->n++] = c;
}

// Tokens end in \n in out, which has room for two characters of each of the input; the result is their number.
int64_t tokenize(const char *input, int64_t n, char *out)
{
    int64_t tokens = 0, written = 0;
    bool number = false;
    text word = {0};
#define FLUSH()                                                                                                        \
    do {                                                                                                               \
        memcpy(out + written, word.items, (size_t)word.n);                                                             \
        written += word.n;                                                                                             \
        out[written++] = '\n';                                                                                         \
        word.n = 0;                                                                                                    \
        tokens = add(tokens, 1);                                                                                       \
    } while (0)
    for (int64_t i = 0; i < n; i++) {
        char c = input[i];
        if (isalpha((unsigned char)c)) {
            if (number) {
                FLUSH();
                number = false;
            }
            put(&word, (char)tolower((unsigned char)c));
        } else if (isdigit((unsigned char)c)) {
            if (word.n && !number)
                FLUSH();
            number = true;
            put(&word, c);
        } else {
            if (word.n) {
                FLUSH();
                number = false;
            }
            if (c != ' ') {
                put(&word, c);
                FLUSH();
            }
        }
    }
    if (word.n)
        FLUSH();
    free(word.items);
    return tokens;
}

/* prefix_floor.c - decoder_models.PrefixSearch by hand: x [FRAMES, LABELS] of log-likelihoods to labels and a likelihood.
 * Prefixes are nodes of a tree, so that no prefix is copied, hashed or compared. The sums are those of the model, in double,
 * except that a term that is impossible is not added. */
#include "prefix.h"

typedef struct {
    int node; /* -1: a longer prefix, which gets a node if it is chosen */
    int parent, label;
    likelihoods is;
    double total;
} candidate;

enum { NODES = FRAMES * BEAM + 1 };
static int parent[NODES], label_of[NODES], place[NODES], child[NODES][LABELS], nodes;

void prepare(const float *const *weights) { (void)weights; }

static int add_node(int of, int label) {
    parent[nodes] = of, label_of[nodes] = label, place[nodes] = -1;
    for (int l = 0; l < LABELS; l++) child[nodes][l] = -1;
    return nodes++;
}

static void insert(candidate *best, candidate made) {
    made.total = log_sum(made.is.blank, made.is.other);
    if (made.total <= best[BEAM - 1].total) return;
    int i = BEAM - 1;
    for (; i > 0 && best[i - 1].total < made.total; i--) best[i] = best[i - 1];
    best[i] = made;
}

static void forward(int plan, const float *x, float *out) {
    (void)plan;
    candidate beam[BEAM], best[BEAM];
    int count = 1, written = 0;
    nodes = 0;
    beam[0] = (candidate){.node = add_node(-1, 0), .is = {0, IMPOSSIBLE}};
    for (int t = 0; t < FRAMES; t++, x += LABELS) {
        likelihoods same[BEAM];
        double longer[BEAM][LABELS];
        for (int i = 0; i < count; i++) place[beam[i].node] = i, same[i] = (likelihoods){IMPOSSIBLE, IMPOSSIBLE};
        for (int i = 0; i < BEAM; i++) best[i].total = IMPOSSIBLE;
        for (int i = 0; i < count; i++) {
            likelihoods of = beam[i].is;
            int node = beam[i].node, last = label_of[node];
            same[i].blank = log_sum(of.blank + x[0], of.other + x[0]);
            for (int l = 1; l < LABELS; l++) {
                int known = child[node][l], at = known < 0 ? -1 : place[known];
                double before = at < 0 ? IMPOSSIBLE : same[at].other, made;
                if (l == last) {
                    made = log_sum(before, plus(of.blank, x[l]));
                    same[i].other = log_sum(same[i].other, plus(of.other, x[l]));
                } else made = log_sum_3(before, plus(of.blank, x[l]), plus(of.other, x[l]));
                if (at < 0) longer[i][l] = made;
                else same[at].other = made, longer[i][l] = IMPOSSIBLE;
            }
        }
        for (int i = 0; i < count; i++) {
            int node = beam[i].node;
            place[node] = -1;
            insert(best, (candidate){.node = node, .is = same[i]});
            for (int l = 1; l < LABELS; l++)
                insert(best, (candidate){.node = -1, .parent = node, .label = l, .is = {IMPOSSIBLE, longer[i][l]}});
        }
        for (count = 0; count < BEAM && best[count].total > IMPOSSIBLE; count++) {
            candidate *chosen = &best[count];
            if (chosen->node < 0) {
                int *of = &child[chosen->parent][chosen->label];
                if (*of < 0) *of = add_node(chosen->parent, chosen->label);
                chosen->node = *of;
            }
            beam[count] = *chosen;
        }
    }
    for (int node = beam[0].node; node > 0; node = parent[node]) written++;
    if (written != RESULTS - 1) return;
    for (int node = beam[0].node, at = written; node > 0; node = parent[node]) out[--at] = (float)label_of[node];
    out[written] = (float)log_sum(beam[0].is.blank, beam[0].is.other);
}

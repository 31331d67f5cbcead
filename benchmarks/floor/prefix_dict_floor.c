/* prefix_dict_floor.c - decoder_models.PrefixSearch by hand, with the dict of the Python program: x [FRAMES, LABELS] of
 * log-likelihoods to labels and a likelihood. A key is a prefix and the label behind it, so no prefix is copied. Keys are
 * hashed from the hash of the prefix, compared by their labels, and kept in the order of insertion. */
#include "prefix.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct prefix {
    const struct prefix *before; /* NULL: the empty prefix */
    uint64_t sum;                /* of the hashes of the labels */
    int label, length;
} prefix;
typedef struct {
    uint64_t hash;
    const prefix *before;
    int label;
    likelihoods is;
} item;
typedef struct {
    const prefix *of;
    likelihoods is;
} candidate;

enum { MOST = BEAM * LABELS + 1, SLOTS = 2 << (32 - __builtin_clz(MOST)) };
static prefix prefixes[FRAMES * BEAM + 1];
static item items[MOST];
static int16_t slots[SLOTS];
static int count;

void prepare(const float *const *weights) { (void)weights; }

INLINE uint64_t hash_with(uint64_t sum, int label) {
    sum += (uint64_t)label * UINT64_C(14029467366897019727);
    return (sum << 31 | sum >> 33) * UINT64_C(11400714785074694791);
}
static bool same_prefix(const prefix *a, const prefix *b) {
    if (a->length != b->length) return false;
    for (; a != b; a = a->before, b = b->before)
        if (a->label != b->label) return false;
    return true;
}

/* Return the item of a key, which is entered if it is absent. */
INLINE item *find(const prefix *before, uint64_t hash, int label) {
    for (uint64_t at = hash % SLOTS;; at = (at + 1) % SLOTS) {
        int number = slots[at];
        if (number < 0) {
            item *made = &items[count];
            slots[at] = (int16_t)count++;
            *made = (item){hash, before, label, {IMPOSSIBLE, IMPOSSIBLE}};
            return made;
        }
        item *found = &items[number];
        if (found->hash == hash && found->label == label && (found->before == before || same_prefix(found->before, before)))
            return found;
    }
}

static void forward(int plan, const float *x, float *out) {
    (void)plan;
    static const prefix none = {.length = -1};
    candidate beam[BEAM];
    int kept = 1, made = 1;
    prefixes[0] = (prefix){.before = &none};
    beam[0] = (candidate){prefixes, {0, IMPOSSIBLE}};
    for (int t = 0; t < FRAMES; t++, x += LABELS) {
        memset(slots, -1, sizeof slots);
        count = 0;
        for (int i = 0; i < kept; i++) {
            const prefix *of = beam[i].of;
            likelihoods was = beam[i].is;
            item *same = find(of->before, of->sum, of->label);
            same->is.blank = log_sum_3(same->is.blank, plus(was.blank, x[0]), plus(was.other, x[0]));
            for (int l = 1; l < LABELS; l++) {
                item *longer = find(of, hash_with(of->sum, l), l);
                if (l == of->label) {
                    longer->is.other = log_sum(longer->is.other, plus(was.blank, x[l]));
                    same->is.other = log_sum(same->is.other, plus(was.other, x[l]));
                } else longer->is.other = log_sum_3(longer->is.other, plus(was.blank, x[l]), plus(was.other, x[l]));
            }
        }
        const item *best[BEAM];
        double total[BEAM];
        kept = 0;
        for (int i = 0; i < count; i++) {
            double sum = log_sum(items[i].is.blank, items[i].is.other);
            if (kept == BEAM && sum <= total[BEAM - 1]) continue;
            int at = kept < BEAM ? kept++ : BEAM - 1;
            for (; at > 0 && total[at - 1] < sum; at--) best[at] = best[at - 1], total[at] = total[at - 1];
            best[at] = &items[i], total[at] = sum;
        }
        for (int i = 0; i < kept; i++) {
            const item *chosen = best[i];
            prefixes[made] = (prefix){chosen->before, chosen->hash, chosen->label, chosen->before->length + 1};
            beam[i] = (candidate){&prefixes[made++], chosen->is};
        }
    }
    const prefix *last = beam[0].of;
    if (last->length != RESULTS - 1) return;
    out[last->length] = (float)log_sum(beam[0].is.blank, beam[0].is.other);
    for (; last->length; last = last->before) out[last->length - 1] = (float)last->label;
}

/* prefix.h - sums of likelihoods that both programs by hand for decoder_models.PrefixSearch compute, in double
 * as the model, except that a term that is impossible is not added. */
#include <math.h>

#include "decoder.h"

#define IMPOSSIBLE -1e300
typedef struct {
    double blank, other;
} likelihoods;

INLINE double log_sum(double a, double b) {
    double largest = a > b ? a : b, least = a > b ? b : a;
    return least <= IMPOSSIBLE ? largest : largest + log(1 + exp(least - largest));
}
INLINE double log_sum_3(double a, double b, double c) {
    if (a <= IMPOSSIBLE) return log_sum(b, c);
    double largest = a > b ? a : b;
    largest = largest > c ? largest : c;
    return largest + log(exp(a - largest) + exp(b - largest) + exp(c - largest));
}
INLINE double plus(double a, double b) { return a <= IMPOSSIBLE ? IMPOSSIBLE : a + b; }

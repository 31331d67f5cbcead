/* checks.h - what all C tests of kernels have: a context, counts of checks, and random numbers, the same in each run. */
#include "../../runtime/include/sc_ops.h"

static sc_ctx *cx;
static int failures, checks;
static uint32_t seed = 1;

static int64_t below(int64_t n) {
    seed = seed * 1664525u + 1013904223u;
    return (int64_t)(seed >> 8) % n;
}

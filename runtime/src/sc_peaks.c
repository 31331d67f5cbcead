/* sc_peaks.c - measures the peak of this machine: multiply-adds in registers, and a stream through memory. A profile
 * compares a program with it. */
#include <time.h>

#include "../include/sc_profile.h"
#include "../include/sc_team.h"
#include "../include/sc_vector.h"
#include "sc_internal.h"

enum {
    PEAK_CHAINS = 12,             /* independent sums: more than the latency of a multiply-add times two units */
    PEAK_ROUNDS = 1 << 15,        /* rounds of these sums in a piece, ... */
    PEAK_PIECES = 8,              /* ... and pieces for each thread: a millisecond together */
    PEAK_FLOATS = 4 << 20,        /* of each of three arrays, 48 MB: more than a core's caches */
    PEAK_TRIALS = 20,
};
typedef float peak_vec __attribute__((vector_size(SC_VL)));

typedef struct peak_job {
    float *a, *b, *c; /* of PEAK_FLOATS */
    float sum[SC_TEAM_MAX][16];
} peak_job;

static void peak_sums(void *arg, int64_t begin, int64_t end, int worker) {
    peak_job *job = arg;
    for (int64_t piece = begin; piece < end; piece++) {
        peak_vec sum[PEAK_CHAINS], factor = 0.999f - (peak_vec){0};
        for (int i = 0; i < PEAK_CHAINS; i++) sum[i] = (float)i - (peak_vec){0};
        for (int round = 0; round < PEAK_ROUNDS; round++)
#pragma GCC unroll 12
            for (int i = 0; i < PEAK_CHAINS; i++) {
                sum[i] = sum[i] * factor + factor;
                __asm__ volatile("" : "+x"(sum[i])); /* keeps the sum in a register, and in the loop */
            }
        for (int i = 0; i < PEAK_CHAINS; i++) job->sum[worker][0] += sum[i][0];
    }
}

static void peak_stream(void *arg, int64_t begin, int64_t end, int worker) {
    const peak_job *job = arg;
    float *restrict a = job->a;
    const float *restrict b = job->b, *restrict c = job->c;
    (void)worker;
    for (int64_t i = begin; i < end; i++) a[i] = b[i] + 3 * c[i];
}

static double peak_seconds(sc_ctx *cx, int64_t count, int64_t grain, sc_work *work, peak_job *job) {
    double least = 1e9;
    for (int trial = 0; trial < PEAK_TRIALS; trial++) {
        struct timespec t0, t1;
        clock_gettime(CLOCK_MONOTONIC, &t0);
        sc_parallel(cx, count, grain, 1e9, work, job);
        clock_gettime(CLOCK_MONOTONIC, &t1);
        double seconds = (double)(t1.tv_sec - t0.tv_sec) + 1e-9 * (double)(t1.tv_nsec - t0.tv_nsec);
        if (seconds < least) least = seconds;
    }
    return least;
}

SC_KERNEL int sc_measure_peaks(sc_ctx *cx, double *flops, double *bytes) {
    int64_t total = 3 * (int64_t)PEAK_FLOATS, threads = sc_workers(cx);
    sc_tensor *memory = sc_empty(cx, SC_F32, 1, &total);
    if (!memory) return -1;
    peak_job job = {.a = memory->data};
    job.b = job.a + PEAK_FLOATS, job.c = job.b + PEAK_FLOATS;
    memset(job.a, 0, (size_t)total * sizeof(float));
    double compute = peak_seconds(cx, threads * PEAK_PIECES, 1, peak_sums, &job);
    double stream = peak_seconds(cx, PEAK_FLOATS, PEAK_FLOATS / 64, peak_stream, &job);
    *flops = 2.0 * PEAK_CHAINS * PEAK_ROUNDS * PEAK_PIECES * (SC_VL / sizeof(float)) * (double)threads / compute;
    *bytes = (double)total * sizeof(float) / stream;
    sc_release(cx, memory);
    return 0;
}

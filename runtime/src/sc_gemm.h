/* sc_gemm.h - what sc_gemm.c shares with sc_conv.c. */
#ifndef SC_GEMM_H
#define SC_GEMM_H
#include "../include/sc_vector.h"
#include "../include/sc_team.h"
#include "sc_internal.h"

enum {
    GEMM_MR = 6,          /* rows that a tile holds in registers, of GEMM_NV vectors of columns; ... */
    GEMM_FEW_NV = 4,      /* ... vectors of up to GEMM_FEW rows */
    GEMM_KC = 512,        /* rows of a block of a panel: 128 KB, half of a small L2 */
    GEMM_FAR = 5 << 18,   /* bytes: a larger b is not in the second cache from one product to the next, so that it is asked ... */
    GEMM_STREAMS = SC_VL == 64 ? 4 : 1, /* ... for early: by one row, so many panels at a time, ... */
    GEMM_MEMORY = 16 << 20,             /* ... and, of a b that the third cache does not keep, ... */
    GEMM_AHEAD = 2048,                  /* ... so many bytes ahead */
    GEMM_TURN = 1 << 15,  /* bytes: a b as large as an L1 cache is read in alternating directions */
    GEMM_DOT_M = 12,      /* up to so many rows of a, packing b costs more than it brings: rows of b^T, ... */
    GEMM_DIRECT_M = 48,   /* ... rows of b */
    GEMM_TRANSPOSED = 4,  /* a has so many times fewer rows than b has columns, so that it is packed in place of b, ... */
    GEMM_PADDING = 4,     /* ... if no more rows than these are missing to whole vectors */
    GEMM_LINES = 4,       /* rows of a near b that one row of a is multiplied by side by side, ... */
    GEMM_ROW_BYTES = 4096, /* ... so many bytes of each */
    GEMM_UNPACKED = 4,         /* products of one row before a weight is packed, ... */
    GEMM_UNPACKED_FAR = 256,   /* ... if it is in the third cache, or sums of rows are computed, ... */
    GEMM_UNPACKED_MEMORY = 64, /* ... or if it is in memory */
    GEMM_UNPACKED_ROWS = 32,   /* ... and of how many of these one of more rows takes the place */
    GEMM_KEPT_K = 2 * GEMM_KC, /* rows of a panel that stays in the second cache from some rows of a to the next */
    GEMM_CHUNK = 96,      /* about so many rows of a at a time stay in the second cache for GEMM_CHUNKED panels or fewer; beside
                           * more panels, which are wide, a is read anew for each */
};

/* Vector registers; a panel's vectors; rows of b between two branches. In 16 registers, six rows by two vectors leave room for a row
 * of b; of three by four each vector of b would be loaded in every multiply-add. */
#if SC_VL == 64 || defined __aarch64__
enum { GEMM_REGISTERS = 32, GEMM_NV = 4, GEMM_STEPS = 1, GEMM_FEW = 1, GEMM_CHUNKED = 7 };
#else
enum { GEMM_REGISTERS = 16, GEMM_NV = 2, GEMM_STEPS = 2, GEMM_FEW = 2, GEMM_CHUNKED = INT32_MAX };
#endif

/* The form of the right operand of a product: strides, or panels of its own elements or of 16-bit ones. */
typedef enum gemm_form { GEMM_PLAIN, GEMM_PANELS, GEMM_PANELS_F16, GEMM_PANELS_BF16 } gemm_form;

/* Estimate the time of one thread. Products of few rows are limited by reading b from memory. */
static inline double gemm_ns(int64_t m, int64_t n, int64_t k, size_t item) {
    double compute = 2.0 * (double)m * (double)n * (double)k * (double)item / (8 * SC_VL); /* 2 SC_VL floats: near the peak at 3 GHz */
    double memory = (double)n * (double)k * (double)item / SC_CACHED_BYTES_PER_NS;
    return compute > memory ? compute : memory;
}

/* Convert the tensor that holds the panels of the weight [n, k] to a packed weight in place: all objects of a context
 * have one size (sc_core.c). */
SC_KERNEL sc_packed *gemm_packed_from(sc_tensor *panels, int dtype, int64_t n, int64_t k);

/* Return whether gemm_columns computes products by a packed weight. */
SC_KERNEL bool gemm_has_columns(const sc_packed *w);
/* Compute SC_VL / 4 elements of init (NULL: zeros) + x w^T for one row x, from element j, a multiple of as many: as sc_linear_packed
 * does, bit for bit. Those that do not exist are any numbers. */
SC_KERNEL void gemm_columns(const sc_packed *w, const float *x, const float *init, int64_t j, float *out);

/* Both types: see sc_gemm_tile.inc. */
SC_KERNEL int gemm_panel_vectors_f32(int64_t columns);
SC_KERNEL void gemm_panel_f32(int nv, int64_t m, int64_t n, int64_t k, const float *a, int64_t ra, const float *b, int64_t rb,
                              const float *init, int64_t ldi, float *c, int64_t ldc, const float *soon);
SC_KERNEL int gemm_panel_vectors_f64(int64_t columns);
SC_KERNEL void gemm_panel_f64(int nv, int64_t m, int64_t n, int64_t k, const double *a, int64_t ra, const double *b, int64_t rb,
                              const double *init, int64_t ldi, double *c, int64_t ldc, const double *soon);

#endif

/* sc_copy_elements.c - elements moved without conversion, by their size: rows of any steps, and transposed matrices. */
#include "../include/sc_vector.h"
#include "sc_internal.h"

#define T uint8_t
#define N(name) move_##name##_1
#include "sc_copy_elements_tile.inc"
#define T uint16_t
#define N(name) move_##name##_2
#include "sc_copy_elements_tile.inc"
#define T uint32_t
#define N(name) move_##name##_4
#include "sc_copy_elements_tile.inc"
#define T uint64_t
#define N(name) move_##name##_8
#include "sc_copy_elements_tile.inc"

/* Move a row of elements of 16 bytes, by halves. */
static void move_row_16(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t n) {
    for (int half = 0; half < 16; half += 8)
        move_row_8((uint64_t *)(void *)(to + half), 2 * to_step, (const uint64_t *)(const void *)(from + half), 2 * from_step, n);
}

SC_KERNEL void sc_move_bytes(void *to, const void *from, size_t n) {
    enum { V = SC_VL, MOST = 16384 };
    typedef uint8_t at __attribute__((vector_size(SC_VL), aligned(1), may_alias));
    char *p = to;
    const char *q = from;
    if (n < V || n > MOST) {
        memcpy(to, from, n);
        return;
    }
    for (size_t i = 0; i + V <= n; i += V) *(at *)(p + i) = *(const at *)(q + i);
    *(at *)(p + n - V) = *(const at *)(q + n - V);
}

SC_KERNEL void sc_move_row(size_t bytes, void *to, int64_t to_step, const void *from, int64_t from_step, int64_t n) {
    if (to_step == 1 && from_step == 1) memcpy(to, from, (size_t)n * bytes);
    else if (bytes == 1) move_row_1(to, to_step, from, from_step, n);
    else if (bytes == 2) move_row_2(to, to_step, from, from_step, n);
    else if (bytes == 4) move_row_4(to, to_step, from, from_step, n);
    else if (bytes == 8) move_row_8(to, to_step, from, from_step, n);
    else move_row_16(to, to_step, from, from_step, n);
}

SC_KERNEL void sc_move_transposed(size_t bytes, void *to, int64_t to_pitch, const void *from, int64_t from_pitch, int64_t rows,
                                  int64_t columns) {
    if (bytes == 1) move_transposed_1(to, to_pitch, from, from_pitch, rows, columns);
    else if (bytes == 2) move_transposed_2(to, to_pitch, from, from_pitch, rows, columns);
    else if (bytes == 4) move_transposed_4(to, to_pitch, from, from_pitch, rows, columns);
    else if (bytes == 8) move_transposed_8(to, to_pitch, from, from_pitch, rows, columns);
    else
        for (int64_t i = 0; i < rows; i++)
            move_row_16((char *)to + i * to_pitch * 16, 1, (const char *)from + i * 16, from_pitch, columns);
}

/* sc_iter_staging.c - pointwise iteration for generated code whose operands are not all contiguous in the inner loop. That code
 * has one loop, with steps of 1, which vectorizes; other operands pass through small buffers, piece by piece. A piece is
 * a part of a row, or several rows where they are short. What is one element for a whole long row (a bias by channel, a
 * mean that is kept as a dimension) is spread once per row. */
#include "sc_internal.h"

typedef struct stage_wide { uint64_t low, high; } stage_wide; /* an element of 16 bytes */

enum { STAGE_N = 512,       /* elements of a piece: a few operands fit the L1 cache */
       STAGE_SHORT = 64 };  /* rows up to this length are taken together */

typedef struct stage_operand {
    int64_t item, step, across; /* bytes: of an element (0 for Python numbers), between elements, between rows */
    char *row, *buffer;         /* buffer: NULL where memory is read and written in place */
    const char *spread;         /* the element that fills the buffer */
} stage_operand;

struct sc_stage {
    sc_ctx *cx;
    sc_tensor *memory;   /* of this struct and the buffers after it */
    int64_t n, rows;     /* length of a row; rows that are taken together, 1 where rows are taken in parts */
    int64_t done, taken; /* elements or rows before the current piece, and in it */
    int results;
    stage_operand operand[SC_MAX_OPERANDS];
};

/* Copy rows of n elements; all strides are in bytes. */
#define STAGE_MOVE(type)                                                                                              \
    case sizeof(type):                                                                                                \
        for (int64_t r = 0; r < rows; r++, to += to_row, from += from_row)                                            \
            for (int64_t k = 0; k < n; k++) *(type *)(void *)(to + k * to_step) = *(const type *)(const void *)(from + k * from_step); \
        break;
static void stage_move(char *to, int64_t to_row, int64_t to_step, const char *from, int64_t from_row, int64_t from_step,
                       int64_t item, int64_t rows, int64_t n) {
    switch (item) {
        STAGE_MOVE(uint8_t)
        STAGE_MOVE(uint16_t)
        STAGE_MOVE(uint32_t)
        STAGE_MOVE(uint64_t)
        STAGE_MOVE(stage_wide)
    }
}
#define STAGE_SPREAD(type)                                                                                \
    case sizeof(type): {                                                                                  \
        type x = *(const type *)(const void *)from;                                                       \
        for (int64_t k = 0; k < n; k++) ((type *)(void *)to)[k] = x;                                      \
        break;                                                                                            \
    }
static void stage_spread(char *to, const char *from, int64_t item, int64_t n) {
    switch (item) {
        STAGE_SPREAD(uint8_t)
        STAGE_SPREAD(uint16_t)
        STAGE_SPREAD(uint32_t)
        STAGE_SPREAD(uint64_t)
        STAGE_SPREAD(stage_wide)
    }
}

static char *stage_place(const struct sc_stage *s, const stage_operand *o) {
    return o->row + s->done * (s->rows > 1 ? o->across : o->step);
}

/* Set the iteration to the next piece. */
static void stage_fill(sc_iter *it) {
    struct sc_stage *s = it->stage;
    int64_t most = s->rows > 1 ? s->rows : STAGE_N, left = (s->rows > 1 ? it->size[0] : s->n) - s->done;
    s->taken = left < most ? left : most;
    int64_t rows = s->rows > 1 ? s->taken : 1, n = s->rows > 1 ? s->n : s->taken;
    it->n = rows * n;
    for (int i = 0; i < it->operands; i++) {
        stage_operand *o = &s->operand[i];
        char *from = stage_place(s, o);
        it->p[i] = o->buffer ? o->buffer : from;
        if (!o->buffer || i < s->results) continue;
        if (rows == 1 && o->step == 0) {
            if (o->spread != from) stage_spread(o->buffer, o->spread = from, o->item, s->n < STAGE_N ? s->n : STAGE_N);
        } else stage_move(o->buffer, n * o->item, o->item, from, o->across, o->step, o->item, rows, n);
    }
}

SC_KERNEL bool sc_stage_next(sc_iter *it) {
    struct sc_stage *s = it->stage;
    bool by_rows = s->rows > 1;
    for (int i = 0; i < s->results; i++) {
        const stage_operand *o = &s->operand[i];
        int64_t n = by_rows ? s->n : s->taken;
        if (o->buffer)
            stage_move(stage_place(s, o), o->across, o->step, o->buffer, n * o->item, o->item, o->item, by_rows ? s->taken : 1, n);
    }
    s->done += s->taken;
    if (s->done == (by_rows ? it->size[0] : s->n)) {
        s->done = 0;
        if (by_rows) it->at[0] = it->size[0] - 1;
        for (int i = 0; i < it->operands; i++)
            it->p[i] = s->operand[i].row + (by_rows ? s->operand[i].across * it->at[0] : 0);
        if (!sc_iter_step(it)) {
            it->stage = NULL;
            sc_release(s->cx, s->memory);
            return false;
        }
        for (int i = 0; i < it->operands; i++) s->operand[i].row = it->p[i];
    }
    stage_fill(it);
    return true;
}

SC_KERNEL int sc_stage_begin(sc_ctx *cx, sc_iter *it, int results, sc_tensor *const *out, sc_tensor *const *in) {
    int64_t bytes = sizeof(struct sc_stage), rows = 1, buffered[SC_MAX_OPERANDS] = {0}; /* offsets of buffers */
    if (it->rank > 0 && it->n <= STAGE_SHORT) rows = it->size[0] < STAGE_N / it->n ? it->size[0] : STAGE_N / it->n;
    struct sc_stage stage = {.cx = cx, .n = it->n, .rows = rows, .results = results};
    for (int i = 0; i < it->operands; i++) {
        const sc_tensor *t = i < results ? out[i] : in[i - results];
        stage_operand *o = &stage.operand[i];
        o->row = it->p[i];
        if (!t) continue;
        o->item = (int64_t)sc_dtype_size(t->dtype);
        o->step = it->step[i] * o->item;
        o->across = it->rank > 0 ? it->stride[0][i] : 0;
        if (o->step == o->item && (rows == 1 || o->across == it->n * o->item)) continue;
        buffered[i] = bytes;
        bytes += STAGE_N * o->item;
    }
    sc_tensor *memory = sc_empty(cx, SC_U8, 1, &bytes);
    if (!memory) return -1;
    for (int i = 0; i < it->operands; i++) {
        stage_operand *o = &stage.operand[i];
        if (buffered[i]) o->buffer = (char *)memory->data + buffered[i];
        it->step[i] = 1;
    }
    stage.memory = memory;
    it->stage = memory->data;
    *it->stage = stage;
    stage_fill(it);
    return 0;
}

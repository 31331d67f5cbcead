/* sc_ops.h - declarations for the kernels of sc_kernels.h: the enums that choose between operations, their types, and
 * small inline functions that call them. */
#ifndef SC_OPS_H
#define SC_OPS_H
#include "sc_dict.h"
#include "sc_kernels.h"

typedef enum sc_pad_mode { SC_PAD_REFLECT, SC_PAD_REPLICATE, SC_PAD_CIRCULAR } sc_pad_mode; /* ORDER PAD: ir/ops/views.py */
typedef enum sc_scatter_op { /* ORDER SCATTER: ir/ops/indexing.py */
    SC_SCATTER_SET, SC_SCATTER_ADD, SC_SCATTER_PROD, SC_SCATTER_AMAX, SC_SCATTER_AMIN, SC_SCATTER_MEAN
} sc_scatter_op;
typedef enum sc_scan_op { SC_CUMSUM, SC_CUMPROD, SC_LOGCUMSUMEXP } sc_scan_op; /* ORDER SCAN: ir/ops/scans.py */
typedef enum sc_reduction { SC_SUM, SC_PROD, SC_MEAN, SC_AMAX, SC_AMIN, SC_ALL, SC_ANY, SC_SUM_SQUARES } sc_reduction;
typedef enum sc_arg_reduction { SC_ARGMAX, SC_ARGMIN } sc_arg_reduction;
enum { SC_RANDOM_UNIFORM, SC_RANDOM_NORMAL, SC_RANDOM_BERNOULLI, SC_RANDOM_EXPONENTIAL }; /* of sc_random_fill */

/* Weights in the layout of the kernels. panels: their dtype; back: the last product read them from the last to the first; source:
 * the storage of a weight [n, k] at `from`, of these strides, which is not in panels yet, or NULL; left: how many more products of
 * one row read it as it lies. waits: the panels of a weight that outlives calls are not made yet; in a call, another object reads
 * the weight, whose `kept` is the one that waits. */
struct sc_packed {
    sc_obj obj;
    sc_storage *storage;
    uint8_t dtype, panels;
    bool back, waits;
    int64_t n, k;
    sc_packed *kept;
    sc_storage *source;
    const void *from;
    int64_t row_step, column_step, left;
};
/* Values computed from frozen weights; see sc_ctx_keep. */
static inline sc_tensor *sc_kept_tensor(const sc_ctx *cx, int slot) { return (sc_tensor *)(void *)sc_ctx_kept(cx, slot); }
static inline sc_packed *sc_kept_packed(const sc_ctx *cx, int slot) { return (sc_packed *)(void *)sc_ctx_kept(cx, slot); }
static inline int sc_keep_tensor(sc_ctx *cx, int slot, sc_tensor *t) { return sc_ctx_keep(cx, slot, &t->obj, &t->storage, &t->data); }

#ifndef SC_WITHOUT_CONTRACTIONS
/* `rows` holds a window of results, [steps, ...], and a view of one of its rows, which is moved if its reference count
 * is one. After the list's last item follow the index of the window's first row, the number of rows, and their address;
 * 0: none. */
enum { SC_ROWS_WINDOW, SC_ROWS_ROW, SC_ROWS_HELD, SC_ROWS_FIRST = SC_ROWS_HELD, SC_ROWS_COUNT, SC_ROWS_DATA, SC_ROWS_BYTES, SC_ROWS_SLOTS };

static inline sc_tensor *sc_rows_at(const sc_list *rows, int64_t index) {
    const sc_value *held = rows->items;
    uint64_t at = (uint64_t)index - (uint64_t)held[SC_ROWS_FIRST].i;
    if (at >= (uint64_t)held[SC_ROWS_COUNT].i || held[SC_ROWS_ROW].t->obj.refs != 1) return NULL;
    sc_tensor *row = held[SC_ROWS_ROW].t;
    row->data = (char *)held[SC_ROWS_DATA].p + at * (uint64_t)held[SC_ROWS_BYTES].i;
    row->obj.refs++;
    return row;
}

static inline sc_tensor *sc_linear_rows(sc_ctx *cx, sc_list *rows, const sc_tensor *x, int64_t index, int64_t stop,
                                        const sc_packed *w, const sc_tensor *bias, int64_t dim, int64_t step, bool sure) {
    sc_tensor *row = sc_rows_at(rows, index);
    return row ? row : sc_linear_rows_anew(cx, rows, x, index, stop, w, bias, dim, step, sure);
}

static inline sc_tensor *sc_linear_items(sc_ctx *cx, sc_list *rows, const sc_list *xs, int64_t index, int64_t stop,
                                         const sc_packed *w, const sc_tensor *bias, int64_t step, bool sure) {
    sc_tensor *row = sc_rows_at(rows, index);
    return row ? row : sc_linear_items_anew(cx, rows, xs, index, stop, w, bias, step, sure);
}
#endif

#endif

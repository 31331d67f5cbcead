/* sc_linear_rows.c - linear of x[i] in a loop over i: many rows at a time, ahead of the loop, because a product of many rows costs
 * little more than one of few. Every error is still raised at the loop's position; memory is bounded by ROWS_AHEAD. */
#include "sc_internal.h"

enum { ROWS_AHEAD = 48 }; /* rows of a product, about: enough for full speed, and a window of them stays in the L2 cache */

SC_KERNEL sc_list *sc_rows_new(sc_ctx *cx) {
    sc_list *rows = sc_list_new(cx, SC_OBJECTS, SC_ROWS_SLOTS);
    if (rows) rows->items[SC_ROWS_FIRST].i = rows->items[SC_ROWS_COUNT].i = 0;
    return rows;
}

/* Return the row of an index. Make a new view if the kept one has other references. */
static sc_tensor *window_row(sc_ctx *cx, sc_list *rows, int64_t index) {
    sc_value *held = rows->items;
    int64_t at = index - held[SC_ROWS_FIRST].i;
    if (at < 0 || at >= held[SC_ROWS_COUNT].i) return NULL;
    const sc_tensor *window = held[SC_ROWS_WINDOW].t;
    if (held[SC_ROWS_ROW].t->obj.refs != 1) {
        sc_tensor *row = sc_view_of(cx, window, 0, window->rank - 1, window->size + 1, window->stride + 1);
        if (!row) return NULL;
        sc_release(cx, held[SC_ROWS_ROW].o);
        held[SC_ROWS_ROW].t = row;
    }
    return sc_rows_at(rows, index);
}

/* Return how many steps to compute at once, each with the sizes of x: fewer at first if the loop may exit early. The windows of a
 * loop are about the same, since a product of few rows reads the weights as often as one of many. */
static int64_t steps_ahead(const sc_list *rows, const sc_tensor *x, bool sure, int64_t limit) {
    int64_t each = 1;
    for (int d = 0; d + 1 < x->rank; d++) each = sc_wrapped_product(each, x->size[d]);
    int64_t steps = each > 0 && each < ROWS_AHEAD ? ROWS_AHEAD / each : 1;
    if (!sure) {
        int64_t doubled = rows->len ? 2 * rows->items[SC_ROWS_COUNT].i : 1;
        if (steps > doubled) steps = doubled;
    } else if (steps > 1 && limit > steps) {
        int64_t windows = (limit + steps / 2) / steps;
        return (limit + windows - 1) / windows;
    }
    return steps < limit ? steps : limit;
}

static void drop_window(sc_ctx *cx, sc_list *rows) {
    rows->items[SC_ROWS_COUNT].i = 0;
    while (rows->len) sc_release(cx, rows->items[--rows->len].o);
}

/* Multiply the inputs of all steps of a window, which begins at index `first`, and return the row of `index`. */
static sc_tensor *open_window(sc_ctx *cx, sc_list *rows, const sc_tensor *inputs, int64_t first, int64_t index,
                              const sc_packed *w, const sc_tensor *bias) {
    sc_tensor *window = inputs ? sc_linear_packed(cx, inputs, w, bias) : NULL;
    sc_tensor *row = window ? sc_view_of(cx, window, 0, window->rank - 1, window->size + 1, window->stride + 1) : NULL;
    if (!row) return NULL;
    sc_value *held = rows->items;
    held[SC_ROWS_WINDOW].t = window, held[SC_ROWS_ROW].t = row;
    held[SC_ROWS_FIRST].i = first, held[SC_ROWS_COUNT].i = window->size[0];
    held[SC_ROWS_DATA].p = window->data, held[SC_ROWS_BYTES].i = window->stride[0] * (int64_t)sc_dtype_size(window->dtype);
    rows->len = SC_ROWS_HELD;
    return sc_rows_at(rows, index);
}

/* Compute the range of a window. step: of the loop's counter, 1 or -1; stop: where the counter ends. */
static void window_range(int64_t index, int64_t stop, int64_t step, int64_t length, int64_t *first, int64_t *limit) {
    bool up = step > 0;
    int64_t end = up ? (stop < length ? stop : length) : (stop > -1 ? stop : -1);
    *first = index;
    *limit = up ? end - index : index - end;
    if (*limit < 1) *limit = 1;
}

SC_KERNEL sc_tensor *sc_linear_rows_anew(sc_ctx *cx, sc_list *rows, const sc_tensor *x, int64_t index, int64_t stop,
                                         const sc_packed *w, const sc_tensor *bias, int64_t dim, int64_t step, bool sure) {
    if (index < 0) index += x->size[dim], stop = index; /* a negative index, from the end, is computed alone */
    sc_tensor *found = window_row(cx, rows, index);
    if (found || cx->error.type[0]) return found;
    sc_tensor *row = sc_select(cx, x, dim, index), *out = NULL, *part = NULL, *moved = NULL;
    if (!row || sc_check_linear_packed(cx, row, w, bias) < 0) goto done;
    int64_t first, limit;
    window_range(index, stop, step, x->size[dim], &first, &limit);
    int64_t steps = steps_ahead(rows, row, sure, limit);
    drop_window(cx, rows);
    if (steps == 1) {
        out = sc_linear_packed(cx, row, w, bias);
        goto done;
    }
    if (step < 0) first = index - steps + 1;
    part = sc_narrow(cx, x, dim, first, steps);
    int64_t order[SC_MAX_RANK] = {dim};
    for (int d = 0, k = 1; d < x->rank; d++)
        if (d != dim) order[k++] = d;
    moved = part && dim ? sc_permute(cx, part, order, part->rank) : NULL;
    if (part && (moved || !dim)) out = open_window(cx, rows, dim ? moved : part, first, index, w, bias);
done:
    sc_release(cx, row);
    sc_release(cx, part);
    sc_release(cx, moved);
    return out;
}

/* Return the inputs of the steps first, first + 1, ... as one tensor. */
static sc_tensor *gather_items(sc_ctx *cx, const sc_list *xs, int64_t first, int64_t steps) {
    const sc_tensor *x = xs->items[first].t;
    int64_t size[SC_MAX_RANK];
    size[0] = steps;
    memcpy(size + 1, x->size, (size_t)x->rank * sizeof *size);
    sc_tensor *all = sc_empty(cx, x->dtype, x->rank + 1, size);
    size_t bytes = (size_t)x->numel * sc_dtype_size(x->dtype);
    for (int64_t i = 0; all && i < steps; i++) {
        const sc_tensor *item = xs->items[first + i].t;
        if (sc_is_contiguous(item)) memcpy((char *)all->data + (size_t)i * bytes, item->data, bytes);
        else {
            sc_tensor *place = sc_select(cx, all, 0, i);
            if (!place || sc_copy_into(cx, place, item) < 0) return NULL; /* the caller unwinds */
            sc_release(cx, place);
        }
    }
    return all;
}

SC_KERNEL sc_tensor *sc_linear_items_anew(sc_ctx *cx, sc_list *rows, const sc_list *xs, int64_t index, int64_t stop,
                                          const sc_packed *w, const sc_tensor *bias, int64_t step, bool sure) {
    const sc_tensor *x = xs->items[index].t;
    sc_tensor *found = window_row(cx, rows, index);
    if (found || cx->error.type[0]) return found;
    if (sc_check_linear_packed(cx, x, w, bias) < 0) return NULL;
    int64_t first, limit, steps = 1, most;
    window_range(index, stop, step, xs->len, &first, &limit);
    most = x->rank < SC_MAX_RANK ? steps_ahead(rows, x, sure, limit) : 1;
    while (steps < most && sc_same_shape(xs->items[index + step * steps].t, x)) steps++;
    drop_window(cx, rows);
    if (steps == 1) return sc_linear_packed(cx, x, w, bias);
    if (step < 0) first = index - steps + 1;
    sc_tensor *inputs = gather_items(cx, xs, first, steps), *out = open_window(cx, rows, inputs, first, index, w, bias);
    sc_release(cx, inputs);
    return out;
}

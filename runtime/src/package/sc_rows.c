/* sc_rows.c - lists of lists across the C boundary: one block of all items, and the lengths of the rows. */
#include <stdlib.h>

#include "sc_package.h"

/* Return the number of all items, or -1 after sc_raise. */
static int64_t total_of(sc_caller *c, const char *name, const int64_t *lengths, int64_t n) {
    int64_t total = 0;
    bool fits = n >= 0 && (n == 0 || lengths);
    for (int64_t i = 0; fits && i < n; i++) fits = lengths[i] >= 0 && !__builtin_add_overflow(total, lengths[i], &total);
    if (fits) return total;
    const char *what = n < 0 || lengths ? "a length is negative, or their sum is too large" : "the lengths are NULL";
    return sc_raise(c->cx, "ValueError", "argument '%s': %s", name, what);
}

static int take_items(sc_caller *c, sc_rows of, const sc_param *p, const void *items, int64_t n, sc_value *out) {
    switch (of) {
    case SC_ROWS_TENSORS: return sc_take_tensors(c, p, items, n, out);
    case SC_ROWS_I64S: return sc_take_i64s(c, p->name, items, n, out);
    case SC_ROWS_F64S: return sc_take_f64s(c, p->name, items, n, out);
    case SC_ROWS_BOOLS: return sc_take_bools(c, p->name, items, n, out);
    default: return sc_take_strs(c, p->name, items, n, out);
    }
}

int sc_take_rows(sc_caller *c, sc_rows of, const sc_param *p, const void *items, const int64_t *lengths, int64_t n,
                 sc_value *out) {
    sc_value all;
    int64_t total = total_of(c, p->name, lengths, n), at = 0;
    if (total < 0 || take_items(c, of, p, items, total, &all)) return -1;
    sc_list *rows = out->l = sc_list_new(c->cx, SC_OBJECTS, n);
    if (!rows) return -1;
    for (int64_t i = 0; i < n; i++) {
        sc_list *row = sc_list_new(c->cx, (sc_items)all.l->holds, lengths[i]);
        if (!row || sc_list_append(c->cx, rows, SC_OBJECTS, (sc_value){.l = row})) return -1;
        sc_release(c->cx, row);
        for (int64_t k = 0; k < lengths[i]; k++)
            if (sc_list_append(c->cx, row, row->holds, sc_list_at(all.l, at++))) return -1;
        row->written = false;
        row->owner = (void *)(uintptr_t)p->name; /* marks it as the caller's */
    }
    rows->written = false;
    rows->owner = (void *)(uintptr_t)p->name;
    all.l->owner = NULL;
    sc_release(c->cx, all.l);
    return 0;
}

int sc_give_rows(sc_caller *c, sc_rows of, sc_value from, void *items, int64_t **lengths, int64_t *n) {
    const sc_list *rows = from.l;
    *lengths = calloc((size_t)rows->len + 1, sizeof **lengths);
    if (!*lengths) return sc_raise(c->cx, "MemoryError", "out of memory for a result");
    sc_items holds = of == SC_ROWS_BOOLS ? SC_BOOLS : of == SC_ROWS_I64S || of == SC_ROWS_F64S ? SC_VALUES : SC_OBJECTS;
    sc_value all = {.l = sc_list_new(c->cx, holds, 0)};
    if (!all.l) return -1;
    for (*n = 0; *n < rows->len; ++*n) {
        const sc_list *row = rows->items[*n].l;
        (*lengths)[*n] = row->len;
        for (int64_t k = 0; k < row->len; k++)
            if (sc_list_append(c->cx, all.l, holds, sc_list_at(row, k))) return -1;
    }
    int64_t total;
    switch (of) {
    case SC_ROWS_TENSORS: return sc_give_tensors(c, all, items, &total);
    case SC_ROWS_I64S: return sc_give_i64s(c, all, items, &total);
    case SC_ROWS_F64S: return sc_give_f64s(c, all, items, &total);
    case SC_ROWS_BOOLS: return sc_give_bools(c, all, items, &total);
    default: return sc_give_strs(c, all, items, &total);
    }
}

void sc_drop_rows(DLManagedTensorVersioned ***tensors, int64_t **lengths, int64_t *n) {
    int64_t total = 0;
    for (int64_t i = 0; *lengths && i < *n; i++) total += (*lengths)[i];
    sc_drop_tensors(tensors, &total);
    free(*lengths);
    *lengths = NULL;
    *n = 0;
}

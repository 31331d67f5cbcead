/* sc_state.c - the state that a model keeps from call to call. A state owns its memory: values that a call assigns are
 * copied out of the call's context. So a failed call leaves the values that it had assigned, and nothing else. */
#include <stdlib.h>
#include <string.h>

#include "sc_cells.h"

/* ---- cells ---- */

void sc_cell_clear(sc_cell *c) {
    for (int64_t i = 0; i < c->n; i++) sc_cell_clear(&c->items[i]);
    free(c->items);
    free(c->form.data);
    free(c->text);
    *c = (sc_cell){0};
}

/* Return the number of bytes from the first element to the end of the last. */
static size_t extent_of(const sc_tensor *t) {
    size_t last = 0;
    for (int d = 0; d < t->rank; d++) {
        if (t->size[d] == 0) return 0;
        last += (size_t)(t->size[d] - 1) * (size_t)t->stride[d];
    }
    return (last + 1) * sc_dtype_size(t->dtype);
}

/* Copy a tensor with its strides. A tensor without elements has memory too, since NULL means absent. */
int sc_cell_set_tensor(sc_cell *c, const sc_tensor *from) {
    size_t bytes = extent_of(from), room = (bytes / SC_ALIGN + 1) * SC_ALIGN;
    c->form = *from;
    if (!(c->form.data = aligned_alloc(SC_ALIGN, room))) return -1;
    memcpy(c->form.data, from->data, bytes);
    return 0;
}

int sc_cell_set_text(sc_cell *c, const sc_str *from) {
    size_t bytes = (size_t)from->len * from->width;
    if (!(c->text = malloc(sizeof *c->text + bytes))) return -1;
    *c->text = (sc_str)SC_STR_CONSTANT(from->width, from->len, sc_str_hash(from), c->text + 1);
    memcpy(c->text + 1, from->data, bytes);
    return 0;
}

static int copy_cell(sc_cell *c, const sc_cell *from) {
    *c = (sc_cell){.number = from->number};
    if (from->text) return sc_cell_set_text(c, from->text);
    if (from->form.data) return sc_cell_set_tensor(c, &from->form);
    if (from->n && !(c->items = calloc((size_t)from->n, sizeof *c->items))) return -1;
    for (; c->n < from->n; c->n++)
        if (copy_cell(&c->items[c->n], &from->items[c->n])) return c->n++, -1;
    return 0;
}

/* ---- a state and its first values ---- */

static int first_tensor(const sc_model *m, int weight, sc_cell *c) {
    const sc_weight *w = &m->package->weights[weight];
    sc_tensor t = {.dtype = w->dtype, .rank = w->rank, .data = m->weights.data[weight]};
    int64_t count = 1;
    for (int d = w->rank; d-- > 0; count *= w->size[d]) t.size[d] = w->size[d], t.stride[d] = count;
    t.numel = count;
    return sc_cell_set_tensor(c, &t);
}

static int first_value(const sc_model *m, const sc_leaf *leaf, sc_cell *c) {
    c->number = leaf->number;
    if (!leaf->is_list && leaf->is_text) return c->number.s ? sc_cell_set_text(c, c->number.s) : 0;
    if (!leaf->is_list) return leaf->is_tensor && leaf->weight >= 0 ? first_tensor(m, leaf->weight, c) : 0;
    if (leaf->n && !(c->items = calloc((size_t)leaf->n, sizeof *c->items))) return -1;
    for (; c->n < leaf->n; c->n++) {
        if (leaf->is_tensor && first_tensor(m, leaf->weight + (int)c->n, &c->items[c->n])) return c->n++, -1;
        if (leaf->is_text && sc_cell_set_text(&c->items[c->n], leaf->numbers[c->n].s)) return c->n++, -1;
        if (!leaf->is_tensor) c->items[c->n].number = leaf->numbers[c->n];
    }
    return 0;
}

sc_state *sc_state_new(const sc_model *model) {
    sc_state *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->model = model;
    s->cells = calloc((size_t)model->package->n_leaves + 1, sizeof *s->cells);
    if (s->cells && !sc_state_reset(s)) return s;
    sc_state_free(s);
    return NULL;
}

void sc_state_free(sc_state *s) {
    if (!s) return;
    sc_state_settle(s);
    for (int i = 0; s->cells && i < s->model->package->n_leaves; i++) sc_cell_clear(&s->cells[i]);
    free(s->cells);
    free(s);
}

int sc_state_replace(sc_state *s, sc_cell *made, int failed) {
    for (int i = 0; made && i < s->model->package->n_leaves; i++) {
        if (!failed) {
            sc_cell old = s->cells[i];
            s->cells[i] = made[i];
            made[i] = old;
        }
        sc_cell_clear(&made[i]);
    }
    free(made);
    return failed;
}

int sc_state_reset(sc_state *s) {
    const sc_package *p = s->model->package;
    sc_cell *made = calloc((size_t)p->n_leaves + 1, sizeof *made);
    int failed = made ? 0 : -1;
    for (int i = 0; !failed && i < p->n_leaves; i++) failed = first_value(s->model, &p->leaves[i], &made[i]);
    return sc_state_replace(s, made, failed);
}

int sc_state_copy(sc_state *to, const sc_state *from) {
    int n = from->model->package->n_leaves;
    sc_cell *made = calloc((size_t)n + 1, sizeof *made);
    int failed = made ? 0 : -1;
    for (int i = 0; !failed && i < n; i++) failed = copy_cell(&made[i], &from->cells[i]);
    return sc_state_replace(to, made, failed);
}

/* ---- into a call ---- */

static int take_tensor(sc_ctx *cx, const sc_cell *c, sc_value *out) {
    const sc_tensor *t = &c->form;
    out->t = NULL;
    if (!t->data) return 0;
    out->t = sc_from_external(cx, t->data, extent_of(t), t->dtype, t->rank, t->size, t->stride, SC_EXTERNAL, -1, NULL);
    return out->t ? 0 : -1;
}

static sc_value value_of(const sc_cell *c) { return c->text ? (sc_value){.s = c->text} : c->number; }

static int take_list(sc_ctx *cx, const sc_leaf *leaf, const sc_cell *c, sc_value *out) {
    bool counted = leaf->is_tensor || leaf->is_text;
    sc_list *l = out->l = sc_list_new(cx, counted ? SC_OBJECTS : leaf->is_bool ? SC_BOOLS : SC_VALUES, c->n);
    for (int64_t i = 0; l && i < c->n; i++) {
        sc_value item = value_of(&c->items[i]);
        if ((leaf->is_tensor && take_tensor(cx, &c->items[i], &item)) || sc_list_append(cx, l, l->holds, item) < 0) return -1;
    }
    if (l) l->written = false;
    return l ? 0 : -1;
}

int sc_state_take(const sc_state *s, const sc_uses *uses, sc_ctx *cx, sc_value *args) {
    for (int i = 0; i < uses->n; i++) {
        const sc_leaf *leaf = &s->model->package->leaves[uses->leaves[i]];
        const sc_cell *cell = &s->cells[uses->leaves[i]];
        if (leaf->is_list ? take_list(cx, leaf, cell, &args[i])
            : leaf->is_tensor ? take_tensor(cx, cell, &args[i])
                              : (args[i] = value_of(cell), 0))
            return -1;
    }
    return 0;
}

/* ---- out of a call ---- */

/* A call's end: the leaves that its entry takes, and their values at entry. */
typedef struct after {
    const sc_package *package;
    const sc_uses *uses;
    const sc_ctx *cx;
    const sc_value *args;
} after;

static const sc_leaf *leaf_at(const after *a, int i) { return &a->package->leaves[a->uses->leaves[i]]; }

/* Return the value of the i-th leaf after the call: the value that its target was set to, or the one before the call. */
static const sc_value *value_after(const after *a, int i, bool *changed) {
    const sc_leaf *leaf = leaf_at(a, i);
    *changed = leaf->is_list && a->args[i].l && a->args[i].l->written;
    const sc_target *target = leaf->target >= 0 && leaf->target < a->cx->n_targets ? &a->cx->targets[leaf->target] : NULL;
    if (!target || target->form == SC_UNSET) return &a->args[i];
    *changed = true;
    return &target->leaves[leaf->position];
}

static int keep_value(const sc_leaf *leaf, sc_value v, sc_cell *c) {
    if (!leaf->is_list && leaf->is_tensor) return v.t ? sc_cell_set_tensor(c, v.t) : 0;
    if (!leaf->is_list && leaf->is_text) return v.s ? sc_cell_set_text(c, v.s) : 0;
    if (!leaf->is_list) return c->number = v, 0;
    int64_t n = v.l ? v.l->len : 0;
    if (n && !(c->items = calloc((size_t)n, sizeof *c->items))) return -1;
    for (; c->n < n; c->n++) {
        sc_value item = sc_list_at(v.l, c->n);
        if (leaf->is_text && sc_cell_set_text(&c->items[c->n], item.s)) return c->n++, -1;
        c->items[c->n].number = item;
        if (leaf->is_tensor && sc_cell_set_tensor(&c->items[c->n], v.l->items[c->n].t)) return c->n++, -1;
    }
    return 0;
}

/* The storage of a tensor of the state. In eager, a write to a tensor of a state is seen by all tensors that alias it.
 * Here the leaves of a state share no memory, so an alias is an error if code may write to one of the two. */
typedef struct holder {
    const sc_storage *storage;
    bool written;
} holder;

static int64_t tensors_of(const sc_leaf *leaf, sc_value v, holder *out) {
    if (!leaf->is_tensor || !v.o) return 0;
    int64_t n = leaf->is_list ? v.l->len : 1;
    for (int64_t i = 0; out && i < n; i++)
        out[i] = (holder){(leaf->is_list ? v.l->items[i].t : v.t)->storage, leaf->written};
    return n;
}

static int check_sharing(const after *a, sc_ctx *cx) {
    int64_t n = 0, at = 0;
    bool changed, writes = false, shared = false;
    for (int i = 0; i < a->uses->n; i++) writes |= leaf_at(a, i)->written;
    if (!writes) return 0;
    for (int i = 0; i < a->uses->n; i++) n += tensors_of(leaf_at(a, i), *value_after(a, i, &changed), NULL);
    holder *all = calloc((size_t)n + 1, sizeof *all);
    if (!all) return sc_raise(cx, "MemoryError", "out of memory");
    for (int i = 0; i < a->uses->n; i++) at += tensors_of(leaf_at(a, i), *value_after(a, i, &changed), all + at);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < i; k++)
            shared |= (all[i].written || all[k].written) && all[i].storage == all[k].storage;
    free(all);
    if (!shared) return 0;
    return sc_raise(cx, "NotImplementedError", "two parts of the state share memory, and the code writes to its tensors");
}

int sc_state_keep(sc_state *s, const sc_uses *uses, sc_ctx *cx, const sc_value *args) {
    const after a = {s->model->package, uses, cx, args};
    bool changed;
    if (check_sharing(&a, cx)) return -1;
    sc_cell *made = calloc((size_t)s->model->package->n_leaves + 1, sizeof *made);
    int failed = made ? 0 : -1;
    for (int i = 0; !failed && i < uses->n; i++) {
        const sc_value *v = value_after(&a, i, &changed);
        if (changed) failed = keep_value(leaf_at(&a, i), *v, &made[uses->leaves[i]]);
    }
    for (int i = 0; made && i < uses->n; i++) {
        value_after(&a, i, &changed);
        if (changed && !failed) {
            sc_cell *cell = &s->cells[uses->leaves[i]], old = *cell;
            *cell = made[uses->leaves[i]];
            made[uses->leaves[i]] = old;
        }
    }
    s->old = made;
    return failed ? sc_raise(cx, "MemoryError", "out of memory") : 0;
}

void sc_state_settle(sc_state *s) {
    for (int i = 0; s->old && i < s->model->package->n_leaves; i++) sc_cell_clear(&s->old[i]);
    free(s->old);
    s->old = NULL;
}

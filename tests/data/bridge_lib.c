/* bridge_lib.c - entries that test_bridge.py calls through the bridge. ORDER ENTRIES: ENTRIES in test_bridge.py */
#include <string.h>
#include <time.h>

#include "sc.h"

static sc_tensor *like(sc_ctx *cx, const sc_tensor *x) { return sc_empty(cx, x->dtype, x->rank, x->size); }

static void fill(sc_tensor *t, float value)
{
    for (int64_t i = 0; i < t->numel; i++)
        ((float *)t->data)[i] = value;
}

static int64_t at(const sc_tensor *t, int64_t i) /* offset of the i-th element in row-major order */
{
    int64_t offset = 0;
    for (int d = t->rank - 1; d >= 0; i /= t->size[d--])
        offset += i % t->size[d] * t->stride[d];
    return offset;
}

static float sum(const sc_tensor *t)
{
    float s = 0;
    for (int64_t i = 0; i < t->numel; i++)
        s += ((const float *)t->data)[at(t, i)];
    return s;
}

static int add_one(sc_ctx *cx, const sc_value *a, sc_value *r)
{
    if (!(r[0].t = like(cx, a[0].t)))
        return -1;
    for (int64_t i = 0; i < r[0].t->numel; i++)
        ((float *)r[0].t->data)[i] = ((const float *)a[0].t->data)[at(a[0].t, i)] + 1;
    return 0;
}

static int identity(sc_ctx *cx, const sc_value *a, sc_value *r)
{
    (void)cx;
    sc_retain(a[0].t);
    r[0] = a[0];
    return 0;
}

static int transposed(sc_ctx *cx, const sc_value *a, sc_value *r)
{
    const sc_tensor *x = a[0].t;
    int64_t size[] = {x->size[1], x->size[0] - 1}, stride[] = {x->stride[1], x->stride[0]};
    r[0].t = sc_view_of(cx, x, x->stride[0], 2, size, stride); /* x[1:].T */
    return r[0].t ? 0 : -1;
}

static int twice(sc_ctx *cx, const sc_value *a, sc_value *r)
{
    if (add_one(cx, a, r))
        return -1;
    sc_retain(r[0].t);
    r[1] = r[0];
    return 0;
}

static int shared(sc_ctx *cx, const sc_value *a, sc_value *r)
{
    int64_t size[] = {3}, stride[] = {1};
    if (add_one(cx, a, r))
        return -1;
    r[1].t = sc_view_of(cx, r[0].t, 2, 1, size, stride);
    return r[1].t ? 0 : -1;
}

static int inner(sc_ctx *cx, const sc_value *a, sc_value *r)
{
    sc_value both[2];
    if (shared(cx, a, both))
        return -1;
    sc_release(cx, both[0].t);
    r[0] = both[1];
    return 0;
}

static int fill_seven(sc_ctx *cx, const sc_value *a, sc_value *r)
{
    (void)cx, (void)r;
    fill(a[0].t, 7);
    a[0].t->storage->flags |= SC_WRITTEN;
    return 0;
}

static int list_sum(sc_ctx *cx, const sc_value *a, sc_value *r)
{
    (void)cx;
    r[0].f = 0;
    for (int64_t i = 0; i < a[0].l->len; i++)
        r[0].f += sum(a[0].l->items[i].t);
    r[1].i = a[0].l->len;
    return 0;
}

static int list_append(sc_ctx *cx, const sc_value *a, sc_value *r) /* l.append(x + 1); l.append(x); return l */
{
    sc_value fresh;
    if (add_one(cx, a + 1, &fresh) || sc_list_append(cx, a[0].l, SC_OBJECTS, fresh) || sc_list_append(cx, a[0].l, SC_OBJECTS, a[1]))
        return -1;
    sc_release(cx, fresh.t);
    sc_retain(a[0].l);
    r[0] = a[0];
    return 0;
}

static int scalars(sc_ctx *cx, const sc_value *a, sc_value *r)
{
    (void)cx;
    r[0].i = a[0].i + 1, r[1].f = a[1].f * 2, r[2].b = !a[2].b;
    return 0;
}

static int fail(sc_ctx *cx, const sc_value *a, sc_value *r)
{
    fill_seven(cx, a, r);
    if (!like(cx, a[0].t)) /* stays alive: unwinding frees it */
        return -1;
    sc_raise(cx, "IndexError", "index %d is out of range", 5);
    return sc_fail_at(cx, 1);
}

static int fail_named(sc_ctx *cx, const sc_value *a, sc_value *r) /* which = 0: bare assert, 1: KeyError, 2: own class */
{
    static const char *const types[] = {"AssertionError", "KeyError", "Mine", "Unknown"};
    (void)r;
    sc_raise(cx, types[a[0].i], "%s", a[0].i ? "what" : "");
    return sc_fail_at(cx, 0);
}

static int warn_print(sc_ctx *cx, const sc_value *a, sc_value *r)
{
    (void)a, (void)r;
    sc_warn(cx, 1, "UserWarning", "careful");
    cx->print(cx->user, "printed\n", 8);
    return 0;
}

static int spin(sc_ctx *cx, const sc_value *a, sc_value *r) /* busy for n microseconds */
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    int64_t end = t.tv_sec * 1000000000 + t.tv_nsec + a[1].i * 1000;
    do
        clock_gettime(CLOCK_MONOTONIC, &t);
    while (t.tv_sec * 1000000000 + t.tv_nsec < end);
    return add_one(cx, a, r);
}

static int nested(sc_ctx *cx, const sc_value *a, sc_value *r) /* the inner lists in reverse, and one new */
{
    sc_list *out = sc_list_new(cx, SC_OBJECTS, 0), *empty = sc_list_new(cx, SC_OBJECTS, 0);
    if (!out || !empty)
        return -1;
    for (int64_t i = a[0].l->len - 1; i >= 0; i--)
        if (sc_list_append(cx, out, SC_OBJECTS, a[0].l->items[i]))
            return -1;
    if (sc_list_append(cx, out, SC_OBJECTS, (sc_value){.l = empty}) || sc_list_append(cx, out, SC_OBJECTS, (sc_value){.l = empty}))
        return -1;
    sc_release(cx, empty);
    r[0].l = out;
    return 0;
}

static int double_ints(sc_ctx *cx, const sc_value *a, sc_value *r)
{
    sc_list *l = a[0].l;
    (void)r;
    for (int64_t i = 0; i < l->len; i++)
        if (sc_list_set(cx, l, i, SC_VALUES, (sc_value){.i = 2 * l->items[i].i}))
            return -1;
    return 0;
}

static int linear(sc_ctx *cx, const sc_value *a, sc_value *r) /* x + sum(w) * scale */
{
    if (add_one(cx, a, r))
        return -1;
    for (int64_t i = 0; i < r[0].t->numel; i++)
        ((float *)r[0].t->data)[i] += sum(a[1].t) * (float)a[2].f - 1;
    return 0;
}

static int shapes(sc_ctx *cx, const sc_value *a, sc_value *r) /* sizes (0, 3), (), and strided (2, 3); then None */
{
    int64_t none[] = {0, 3}, size[] = {2, 3}, stride[] = {1, 4};
    (void)a;
    r[0].t = sc_empty(cx, SC_F32, 2, none);
    r[1].t = sc_empty(cx, SC_I64, 0, NULL);
    r[2].t = sc_empty_strided(cx, SC_F64, 2, size, stride);
    r[3].t = NULL;
    if (!r[0].t || !r[1].t || !r[2].t)
        return -1;
    *(int64_t *)r[1].t->data = 42;
    for (int i = 0; i < 10; i++)
        ((double *)r[2].t->data)[i] = i;
    return 0;
}

static int clone(sc_ctx *cx, const sc_value *a, sc_value *r)
{
    if (!(r[0].t = like(cx, a[0].t)))
        return -1;
    memcpy(r[0].t->data, a[0].t->data, (size_t)a[0].t->numel * sc_dtype_size(a[0].t->dtype));
    return 0;
}

static int work(sc_ctx *cx, const sc_value *a, sc_value *r) /* many allocations, of tensors and lists */
{
    sc_list *l = sc_list_new(cx, SC_OBJECTS, 0);
    for (int i = 0; l && i < 20; i++) {
        sc_value t;
        if (add_one(cx, a, &t) || sc_list_append(cx, l, SC_OBJECTS, t))
            return -1;
        sc_release(cx, t.t);
    }
    r[0].l = l;
    return l ? 0 : -1;
}

static int small(sc_ctx *cx, const sc_value *a, sc_value *r) /* ten tensors in a list, five more, one result */
{
    return add_one(cx, a[0].l->items, r);
}

static int write_fresh(sc_ctx *cx, const sc_value *a, sc_value *r) /* l[0] = y; return y[2:5] with y fresh */
{
    sc_value both[2];
    if (shared(cx, a + 1, both) || sc_list_set(cx, a[0].l, 0, SC_OBJECTS, both[0]))
        return -1;
    r[0] = both[1];
    return 0;
}

static const sc_entry entries[] = {
#define ENTRY(name, n_args, n_results) {#name, name, n_args, n_results}
    ENTRY(add_one, 1, 1),    ENTRY(identity, 1, 1),   ENTRY(transposed, 1, 1), ENTRY(twice, 1, 2),
    ENTRY(shared, 1, 2),     ENTRY(inner, 1, 1),      ENTRY(fill_seven, 1, 0), ENTRY(list_sum, 1, 2),
    ENTRY(list_append, 2, 1), ENTRY(scalars, 3, 3),   ENTRY(fail, 1, 0),       ENTRY(fail_named, 1, 0),
    ENTRY(warn_print, 0, 0), ENTRY(spin, 2, 1),       ENTRY(nested, 1, 1),     ENTRY(double_ints, 1, 0),
    ENTRY(linear, 3, 1),     ENTRY(shapes, 0, 4),     ENTRY(clone, 1, 1),      ENTRY(work, 1, 1),
    ENTRY(small, 6, 1),      ENTRY(write_fresh, 2, 1),
};
static const sc_loc locs[] = {
    {"user_model.py", "forward", "y = self.cell(x)", 12, -1},
    {"user_cell.py", "cell", "return x[5]", 34, 0},
};
static const sc_program program = {SC_ABI_VERSION, "bridge_lib", "native", sizeof entries / sizeof *entries, entries, locs, 2};

__attribute__((visibility("default"))) const sc_program *sc_program_get(void) { return &program; }

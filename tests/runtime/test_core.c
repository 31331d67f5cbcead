/* Contexts, counts, recycling, errors, iteration, views, lists and reductions, in one program without PyTorch. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/include/sc_ops.h"

/* One test asks for more than there is. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "allocator_may_return_null=1";
}

/* ---- an allocator that counts, and fails from the n-th request on ---- */

typedef struct counter { long calls, fail_at, blocks; size_t bytes; } counter;

static void *counted_realloc(void *user, void *block, size_t old, size_t nbytes) {
    counter *c = user;
    if (nbytes && c->fail_at && ++c->calls >= c->fail_at) return NULL;
    if (block) c->bytes -= old, c->blocks -= nbytes == 0;
    else c->blocks++;
    c->bytes += nbytes;
    if (nbytes) return realloc(block, nbytes);
    free(block);
    return NULL;
}

#define SIZES(...) (const int64_t[]){__VA_ARGS__}

static sc_tensor *iota(sc_ctx *cx, int dtype, int rank, const int64_t *size) {
    int64_t n = 1;
    for (int d = 0; d < rank; d++) n *= size[d];
    sc_tensor *flat = sc_arange_int(cx, dtype, 0, n, 1), *t = flat ? sc_view(cx, flat, size, rank) : NULL;
    sc_release(cx, flat);
    return t;
}

static void expect_error(const sc_ctx *cx, const char *type, const char *message) {
    if (!strcmp(cx->error.type, type) && !strcmp(cx->error.message, message)) return;
    fprintf(stderr, "got %s: %s\n", cx->error.type, cx->error.message);
    abort();
}

/* ---- dicts and sets ---- */

#define KEY(...) (const sc_value[]){__VA_ARGS__}
#define PARTS(front, ...) KEY({.p = sc_front_of_parts(front)}, {__VA_ARGS__}) /* the tuple front + (last,) */

/* Puts in `n` keys and takes out every third; a dict of lists, so that values are counted. */
static sc_dict *filled_dict(sc_ctx *cx, int64_t n, int64_t step) {
    sc_dict *d = sc_dict_new(cx, "i", 1, true);
    for (int64_t i = 0; d && i < n; i++) {
        sc_list *l = sc_list_new(cx, SC_VALUES, 0);
        if (!l || sc_dict_set(cx, d, KEY({.i = i * step}), KEY({.l = l}))) return NULL;
        sc_release(cx, l);
    }
    for (int64_t i = 0; d && i < n; i += 3) sc_dict_remove(cx, d, sc_dict_find(d, KEY({.i = i * step})));
    return d;
}

/* Return the tuple 0, 1, ... n - 1. */
static sc_list *counted_tuple(sc_ctx *cx, int64_t n) {
    sc_list *t = sc_list_new(cx, SC_VALUES, 0);
    for (int64_t i = 0; t && i < n; i++)
        if (sc_list_append(cx, t, SC_VALUES, (sc_value){.i = i})) return NULL;
    return t;
}

/* Put in the tuples 0, 1, ... 39, i for i < n as keys in parts, and read every second one. */
static sc_dict *dict_of_parts(sc_ctx *cx, int64_t n) {
    sc_dict *d = sc_dict_new(cx, "[i]", 1, false);
    sc_list *front = counted_tuple(cx, 40);
    for (int64_t i = 0; d && front && i < n; i++) {
        if (sc_dict_set(cx, d, PARTS(front, .i = i), KEY({.i = i}))) return NULL;
        if (i % 2 && sc_dict_join_key(cx, d, i)) return NULL;
    }
    sc_release(cx, front);
    return front ? d : NULL;
}

/* Look keys in parts and ints up, each three times, in dicts that die. */
static int reach_keys(sc_ctx *cx, sc_list *front, int64_t n) {
    sc_dict *d = sc_dict_new(cx, "[i]", 1, false), *e = d ? sc_dict_new(cx, "i", 2, false) : NULL;
    if (!e) return -1;
    for (int64_t i = 0, number; i < 3 * n; i++) {
        int64_t key = i % n * (1LL << 53) + i % n;
        int entered = sc_dict_reach_parts(cx, d, front, -key, 4, 1, KEY({.i = i}), &number);
        if (entered < 0) return -1;
        assert(entered == (i < n) && number == i % n && sc_dict_value(d, number)->i == i % n);
        entered = sc_dict_reach_int(cx, e, key, 4, 2, KEY({.i = i}, {.f = 0.5}), &number);
        if (entered < 0) return -1;
        assert(entered == (i < n) && number == i % n && sc_dict_value(e, number)[0].i == i % n);
    }
    assert(d->len == n && e->len == n && front->obj.refs == n + 1);
    sc_release(cx, d);
    sc_release(cx, e);
    return front->obj.refs == 1 ? 0 : -1;
}

static int dict_workload(sc_ctx *cx) {
    int64_t changes;
    if (!dict_of_parts(cx, 30)) return -1;
    sc_list *front = counted_tuple(cx, 3);
    if (!front || reach_keys(cx, front, 40)) return -1;
    sc_dict *d = filled_dict(cx, 100, 1 << 20), *s = sc_set_new(cx, "(ib)"), *t = sc_set_new(cx, "(ib)");
    if (!d || !s || !t || sc_dict_walk(cx, d, &changes)) return -1;
    for (int64_t i = 0; i < 40; i++)
        if (sc_set_add(cx, s, KEY({.i = i}, {.b = i & 1})) || sc_set_add(cx, t, KEY({.i = i / 2}, {.b = true}))) return -1;
    sc_dict *both = sc_set_and(cx, s, t), *rest = both ? sc_set_minus(cx, s, t) : NULL;
    if (!rest || sc_set_merge(cx, t, s) || sc_set_keep(cx, t, s) || sc_set_flip(cx, s, both)) return -1;
    return sc_set_drop(cx, t, rest) || sc_dict_walk(cx, t, &changes) ? -1 : 0;
}

static void test_dicts(void) {
    sc_ctx *cx = sc_ctx_new(NULL);
    int64_t changes, now;
    sc_dict *d = filled_dict(cx, 1000, 7);
    assert(d->len == 666 && sc_ctx_count_live(cx) == 667);
    assert(sc_dict_find(d, KEY({.i = 0})) == -1 && sc_dict_find(d, KEY({.i = 8})) == -1);
    assert(!sc_dict_walk(cx, d, &changes) && d->n == d->len);
    for (int64_t i = 1, place = 0; i < 1000; i++) /* the others, in the order in which they came */
        if (i % 3) assert(sc_dict_item(d, place, 3)->key.i == 7 * i && sc_dict_find(d, KEY({.i = 7 * i})) == place++);
    assert(!sc_dict_unchanged(cx, d, changes));
    sc_dict_put(cx, d, 0, sc_dict_value(d, 1));
    assert(!sc_dict_unchanged(cx, d, changes) && sc_ctx_count_live(cx) == 666);
    sc_dict_remove(cx, d, 5);
    assert(sc_dict_unchanged(cx, d, changes) < 0);
    expect_error(cx, "RuntimeError", "dictionary changed size during iteration");
    sc_dict_clear(cx, d);
    assert(sc_ctx_count_live(cx) == 1 && sc_dict_find(d, KEY({.i = 7})) == -1);

    sc_dict *f = sc_dict_new(cx, "f", 1, false);
    double keys[] = {0.0, -0.0, 0.0 / 0.0, -(0.0 / 0.0), 1.0 / 0.0, 0.1, 1e300, 5e-324};
    for (int i = 0; i < 8; i++) assert(!sc_dict_set(cx, f, KEY({.f = keys[i]}), KEY({.i = i})));
    assert(f->len == 6 && sc_dict_value(f, sc_dict_find(f, KEY({.f = 0.0})))->i == 1);

    sc_dict *s = sc_set_new(cx, "i");
    const int64_t added[] = {1, 65, 129, 64}, order[] = {65, 1, 129, 64}; /* CPython's */
    for (int i = 0; i < 4; i++) assert(!sc_set_add(cx, s, KEY({.i = added[i]})));
    assert(!sc_dict_walk(cx, s, &now));
    for (int i = 0; i < 4; i++) assert(sc_dict_item(s, i, 2)->key.i == order[i]);
    sc_ctx_free(cx);
}

static void test_tables(void) {
    sc_ctx *cx = sc_ctx_new(NULL);
    sc_list *front = counted_tuple(cx, 3);
    assert(!reach_keys(cx, front, 300) && cx->n_tables == 2);
    int64_t calls = cx->n_system;
    for (int64_t n = 260; n <= 300; n += 20) assert(!reach_keys(cx, front, n) && cx->n_tables == 2);
    assert(cx->n_system == calls);
    sc_dict *s = sc_set_new(cx, "i"), *large;
    assert(s->mask == 7 && cx->n_tables == 2); /* the order of a set tells how large its table is */
    assert((large = filled_dict(cx, 20000, 1)));
    sc_release(cx, large);
    sc_ctx_trim(cx, 1);
    assert(cx->n_tables == 2);
    sc_ctx_trim(cx, 0);
    assert(!cx->n_tables);
    sc_ctx_free(cx);
}

static void test_values_in_line(void) {
    sc_ctx *cx = sc_ctx_new(NULL);
    int64_t changes;
    sc_dict *d = sc_dict_new(cx, "i", 3, false), *s = sc_set_new(cx, "i");
    for (int64_t i = 0; i < 100; i++) assert(!sc_dict_set(cx, d, KEY({.i = i}), KEY({.i = i}, {.f = 0.5}, {.b = true})));
    for (int64_t i = 0; i < 100; i += 2) sc_dict_remove(cx, d, sc_dict_find(d, KEY({.i = i})));
    assert(!sc_dict_walk(cx, d, &changes) && d->n == 50);
    sc_dict_put(cx, d, 3, KEY({.i = -1}, {.f = 1.5}, {.b = false}));
    for (int64_t i = 0; i < 50; i++) {
        const sc_value *leaves = sc_dict_value(d, i);
        assert(sc_dict_item(d, i, 5)->key.i == 2 * i + 1 && leaves[0].i == (i == 3 ? -1 : 2 * i + 1));
        assert(leaves[1].f == (i == 3 ? 1.5 : 0.5) && leaves[2].b == (i != 3));
    }
    assert(!sc_set_merge(cx, s, d) && s->len == 50 && sc_dict_find(s, KEY({.i = 7})) >= 0);
    sc_dict_clear(cx, d);
    assert(!d->len && sc_ctx_count_live(cx) == 2);
    sc_ctx_free(cx);
}

static void test_keys_in_parts(void) {
    sc_ctx *cx = sc_ctx_new(NULL);
    sc_dict *d = dict_of_parts(cx, 100);
    assert(d->len == 100 && sc_in_parts(sc_dict_item(d, 0, 4)->key) && sc_dict_item(d, 1, 4)->key.l->items[40].i == 1);
    assert(sc_dict_value(d, 3)->i == 3 && sc_ctx_count_live(cx) == 1 + 1 + 1 + 50 * 2);
    sc_dict *s = sc_set_new(cx, "[i]"), *t = sc_set_new(cx, "[i]");
    assert(!sc_set_merge(cx, s, d) && s->len == 100 && !sc_set_merge(cx, t, s) && t->len == 100);
    assert(sc_set_and(cx, s, t)->len == 100 && sc_set_minus(cx, s, t)->len == 0 && !sc_set_merge(cx, t, d) && t->len == 100);
    sc_release(cx, s);
    sc_dict_clear(cx, t);

    sc_list *front = counted_tuple(cx, 40), *whole = counted_tuple(cx, 41), *none = counted_tuple(cx, 0);
    assert(sc_dict_find(d, KEY({.l = whole})) == 40 && sc_dict_find(d, KEY({.l = front})) == -1);
    for (int64_t i = 0; i < 101; i++) /* the tuple in front is another one with the same items */
        assert(sc_dict_find(d, PARTS(front, .i = i)) == (i < 100 ? i : -1));
    front->items[0].i = 7;
    front->hashed = 0;
    assert(sc_dict_find(d, PARTS(front, .i = 3)) == -1 && sc_dict_find(d, PARTS(none, .i = 0)) == -1);
    assert(!sc_dict_set(cx, d, PARTS(none, .i = 0), KEY({.i = 5})) && !sc_dict_join_key(cx, d, 100));
    assert(sc_dict_find(d, KEY({.l = counted_tuple(cx, 1)})) == 100);
    assert(sc_hash("[i]", PARTS(counted_tuple(cx, 9), .i = 9)) == sc_hash("[i]", KEY({.l = counted_tuple(cx, 10)})));
    sc_ctx_free(cx);
}

static void test_parts_of_keys_are_counted(void) {
    sc_ctx *cx = sc_ctx_new(NULL);
    sc_dict *texts = sc_dict_new(cx, "[s]", 1, false);
    sc_list *words = sc_list_new(cx, SC_OBJECTS, 0);
    for (int i = 0; i < 5; i++) assert(!sc_list_append(cx, words, SC_OBJECTS, (sc_value){.s = sc_str_new(cx, 1, 0)}));
    sc_str *word = words->items[0].s;
    for (int i = 0; i < 2; i++) {
        assert(!sc_dict_set(cx, texts, PARTS(words, .s = word), KEY({.i = i})));
        assert(word->obj.refs == 3 && words->obj.refs == 2 && texts->len == 1);
    }
    assert(!sc_dict_join_key(cx, texts, 0) && word->obj.refs == 4 && words->obj.refs == 1);
    sc_dict_remove(cx, texts, 0);
    assert(word->obj.refs == 2 && !sc_dict_set(cx, texts, PARTS(words, .s = word), KEY({.i = 0})));
    sc_release(cx, texts);
    assert(word->obj.refs == 2 && words->obj.refs == 1);

    uint8_t items[] = {1, 0, 1, 1, 0, 1, 0};
    sc_list *bools = sc_list_new(cx, SC_BOOLS, 0);
    for (int i = 0; i < 6; i++) assert(!sc_list_append(cx, bools, SC_BOOLS, (sc_value){.b = items[i]}));
    sc_dict *flags = sc_set_new(cx, "[b]");
    assert(!sc_set_add(cx, flags, PARTS(bools, .b = false)) && !sc_dict_join_key(cx, flags, 0));
    sc_list *read = sc_dict_item(flags, 0, 3)->key.l;
    assert(read->len == 7 && !memcmp(read->bools, items, 7) && sc_dict_find(flags, PARTS(bools, .b = false)) == 0);
    sc_ctx_free(cx);
}

/* ---- something of everything; leaves all that it makes to the context ---- */

static int workload(sc_ctx *cx) {
    sc_tensor *a = iota(cx, SC_F32, 2, SIZES(6, 8)), *b = a ? sc_transpose(cx, a, 0, 1) : NULL, *out;
    sc_tensor *c = b ? sc_contiguous(cx, b) : NULL, *h = c ? sc_to_dtype(cx, c, SC_F16) : NULL;
    sc_list *parts = h ? sc_chunk(cx, h, 3, 1) : NULL;
    if (!parts || sc_list_append(cx, parts, SC_OBJECTS, (sc_value){.t = h})) return -1;
    for (int i = 0; i < 20; i++)
        if (sc_list_append(cx, parts, SC_OBJECTS, (sc_value){.t = h})) return -1;
    sc_tensor *all = sc_cat(cx, parts, 1, SC_F32);
    if (!all) return -1;
    sc_iter it;
    sc_tensor *in[2] = {b, c};
    if (sc_iter_begin(cx, &it, 1, (const int[]){SC_F64}, &out, 2, in)) return -1;
    sc_tensor *sum = sc_reduce(cx, all, SC_SUM, SIZES(0), 1, false, SC_F64);
    sc_tensor *arg = sum ? sc_arg_reduce(cx, h, SC_ARGMAX, 1, true) : NULL;
    sc_tensor *big = arg ? sc_repeat(cx, a, SIZES(3, 2, 1), 3) : NULL, *shape = big ? sc_reshape(cx, b, SIZES(4, 12), 2) : NULL;
    sc_list *ones = shape ? sc_unbind(cx, a, 0) : NULL;
    sc_tensor *stacked = ones ? sc_stack(cx, ones, -1, SC_F32) : NULL;
    sc_tensor *flipped = stacked ? sc_flip(cx, stacked, SIZES(0, 1), 2) : NULL;
    float x = 0;
    if (!flipped) return -1;
    sc_tensor *ext = sc_from_external(cx, &x, sizeof x, SC_F32, 0, NULL, NULL, 0, 0, NULL);
    return ext && sc_copy_into(cx, flipped, ext) == 0 ? 0 : -1;
}

static void test_failing_dicts(void) {
    for (long fail_at = 1;; fail_at++) {
        counter c = {.fail_at = fail_at};
        sc_allocator counting = {counted_realloc, &c};
        sc_ctx *cx = sc_ctx_new(&counting);
        int r = cx ? dict_workload(cx) : -1;
        if (cx) sc_ctx_free(cx);
        assert(!c.blocks && !c.bytes);
        if (!r) break;
    }
}

static void test_every_failing_allocation(void) {
    for (long n = 1;; n++) {
        counter c = {.fail_at = n};
        sc_ctx *cx = sc_ctx_new(&(sc_allocator){counted_realloc, &c});
        if (!cx) continue;
        int status = workload(cx);
        if (status) assert(!strcmp(cx->error.type, "RuntimeError") || !strcmp(cx->error.type, "MemoryError"));
        sc_ctx_unwind(cx);
        assert(sc_ctx_count_live(cx) == 0 && cx->bytes_live == 0);
        c.fail_at = 0;
        assert(workload(cx) == 0); /* a context can be used again after an error */
        sc_ctx_free(cx);
        assert(c.blocks == 0 && c.bytes == 0);
        if (!status) return;
    }
}

static void test_counts(void) {
    sc_ctx *cx = sc_ctx_new(NULL);
    sc_tensor *a = sc_empty(cx, SC_F32, 2, SIZES(3, 4)), *v = sc_select(cx, a, 0, -1);
    assert(a->numel == 12 && (uintptr_t)a->data % SC_ALIGN == 0 && a->storage->obj.refs == 2);
    assert(v->data == (float *)a->data + 8 && v->rank == 1 && v->size[0] == 4);
    void *data = a->data;
    sc_release(cx, a);
    assert(sc_ctx_count_live(cx) == 2); /* the view keeps the storage */
    sc_release(cx, v);
    assert(sc_ctx_count_live(cx) == 0 && cx->bytes_live == 0 && cx->bytes_cached > 0);
    int64_t calls = cx->n_system;
    a = sc_empty(cx, SC_F64, 1, SIZES(6));
    assert(a->data == data && cx->n_system == calls); /* recycled */
    sc_storage *s = a->storage;
    assert(sc_storage_detach(cx, s) == s); /* its block fits */
    sc_release(cx, a);
    assert(sc_ctx_count_live(cx) == 0);
    sc_ctx_free(cx);
    *(double *)s->data = 1.0;
    sc_storage_free_detached(s);
}

static void test_size_classes(void) {
    sc_ctx *cx = sc_ctx_new(NULL);
    for (int64_t n = 0; n < 5000; n += 7) {
        sc_tensor *t = sc_empty(cx, SC_U8, 1, &n);
        assert(t->storage->nbytes == (size_t)n && t->storage->capacity >= (size_t)n && t->storage->capacity <= 64 + (size_t)n * 5 / 4);
        memset(t->data, 1, (size_t)n);
        sc_release(cx, t);
    }
    sc_ctx_trim(cx, 0);
    assert(cx->bytes_cached == 0);
    assert(!sc_empty(cx, SC_F32, 1, SIZES(-1)));
    expect_error(cx, "RuntimeError", "Trying to create tensor with negative dimension -1: [-1]");
    assert(!sc_empty(cx, SC_F32, 2, SIZES((int64_t)1 << 40, (int64_t)1 << 40)));
    expect_error(cx, "RuntimeError", "Storage size calculation overflowed with sizes=[1099511627776, 1099511627776]");
    assert(!sc_empty(cx, SC_F32, 1, SIZES((int64_t)1 << 58)));
    assert(strstr(cx->error.message, "you tried to allocate 1152921504606846976 bytes"));
    sc_ctx_free(cx);
}

static void test_blocks_that_outlive_a_call(void) {
    sc_ctx *cx = sc_ctx_new(NULL);
    sc_release(cx, sc_empty(cx, SC_U8, 1, SIZES(3000)));
    sc_tensor *t = sc_empty(cx, SC_U8, 1, SIZES(1000)), *v = sc_view_of(cx, t, 10, 1, SIZES(5), SIZES(1));
    assert(t->storage->capacity >= 3000); /* the block of the first tensor */
    memset(t->data, 7, 1000);
    size_t asked = cx->asked_peak;
    sc_storage *s = sc_storage_detach(cx, t->storage);
    assert(s != t->storage && s->capacity < 1300 && s->nbytes == 1000 && !memcmp(s->data, t->data, 1000) && cx->asked_peak == asked);
    assert(sc_ctx_keep(cx, 0, &v->obj, &v->storage, &v->data) == 0);
    assert(v->storage != t->storage && v->storage->capacity < 1300 && v->data == (char *)v->storage->data + 10);
    sc_release(cx, t);
    sc_release(cx, v);
    assert(sc_ctx_count_live(cx) == 0 && *(char *)v->data == 7);
    t = sc_empty(cx, SC_U8, 1, SIZES(1000));
    assert(t->storage->capacity < 1300); /* others of this size have outlived calls */
    sc_ctx_free(cx);
    sc_storage_free_detached(s);

    cx = sc_ctx_new(NULL);
    s = sc_storage_detach(cx, sc_empty(cx, SC_U8, 1, SIZES(5000000))->storage);
    sc_release(cx, sc_empty(cx, SC_U8, 1, SIZES(9000000)));
    assert(sc_empty(cx, SC_U8, 1, SIZES(5000000))->storage->capacity < 6000000); /* and one that lay in a block that fits did, too */
    sc_ctx_free(cx);
    sc_storage_free_detached(s);
}

/* Keep a weight of some bytes, all of them `byte`. Return its storage. */
static sc_storage *keep_weight(sc_ctx *cx, int slot, int64_t nbytes, int byte) {
    sc_tensor *t = sc_empty(cx, SC_U8, 1, &nbytes);
    memset(t->data, byte, (size_t)nbytes);
    sc_storage *storage = t->storage;
    sc_packed *w = (sc_packed *)(void *)t;
    sc_obj head = t->obj;
    head.kind = SC_PACKED;
    *w = (sc_packed){.obj = head, .storage = storage};
    assert(sc_keep_packed(cx, slot, w) == 0);
    storage = w->storage;
    sc_release(cx, w);
    return storage;
}

static void test_weights_share_blocks(void) {
    enum { MB = 1 << 20, COUNT = 40 };
    sc_ctx *cx = sc_ctx_new(NULL);
    assert(!(keep_weight(cx, 0, 3 * MB, 1)->flags & SC_EXTERNAL)); /* few weights */
    assert(!(keep_weight(cx, 1, 5 * MB, 2)->flags & SC_EXTERNAL));
    sc_storage *shared[COUNT];
    for (int i = 0; i < COUNT; i++) shared[i] = keep_weight(cx, 2 + i, MB - i, i);
    assert(!(keep_weight(cx, 2 + COUNT, 100, 1)->flags & SC_EXTERNAL) && !(keep_weight(cx, 3 + COUNT, 4 * MB, 1)->flags & SC_EXTERNAL));
    assert(cx->rooms && cx->rooms->next && !cx->rooms->next->next);
    for (int i = 0; i < COUNT; i++) {
        const char *data = shared[i]->data;
        assert(shared[i]->flags & SC_EXTERNAL && (uintptr_t)data % SC_ALIGN == 0 && shared[i]->nbytes == (size_t)(MB - i));
        assert(data[0] == i && !memcmp(data, data + 1, shared[i]->nbytes - 1));
    }
    assert(cx->bytes_live >= 48 * (size_t)MB - COUNT * COUNT && sc_ctx_count_live(cx) == 0);
    sc_ctx_free(cx);

    counter c = {0};
    cx = sc_ctx_new(&(sc_allocator){counted_realloc, &c}); /* another allocator may have little memory */
    for (int i = 0; i < 8; i++) assert(!(keep_weight(cx, i, MB, i)->flags & SC_EXTERNAL));
    assert(!cx->rooms);
    sc_ctx_free(cx);
    assert(!c.blocks && !c.bytes);
}

static void test_lists(void) {
    sc_ctx *cx = sc_ctx_new(NULL);
    sc_list *l = sc_list_new(cx, SC_OBJECTS, 0);
    sc_tensor *a = sc_empty(cx, SC_F32, 0, NULL), *b = sc_empty(cx, SC_F32, 0, NULL);
    for (int i = 0; i < 9; i++) assert(sc_list_append(cx, l, SC_OBJECTS, (sc_value){.t = a}) == 0);
    assert(a->obj.refs == 10 && l->len == 9 && l->written);
    int64_t at;
    assert(sc_list_index(cx, l, -9, &at) == 0 && at == 0 && sc_list_index(cx, l, 9, &at) == -1);
    expect_error(cx, "IndexError", "list index out of range");
    assert(sc_list_set(cx, l, -1, SC_OBJECTS, (sc_value){.t = b}) == 0 && a->obj.refs == 9 && b->obj.refs == 2);
    assert(sc_list_set(cx, l, -10, SC_OBJECTS, (sc_value){.t = b}) == -1);
    expect_error(cx, "IndexError", "list assignment index out of range");
    assert(sc_fail_at(cx, 3) == -1 && sc_fail_at(cx, 4) == -1 && cx->error.loc == 3);
    sc_release(cx, l);
    assert(a->obj.refs == 1 && b->obj.refs == 1);
    sc_ctx_free(cx);
}

/* ---- iteration: sums of two operands against plain index arithmetic ---- */

static double at_index(const sc_tensor *t, const sc_tensor *shape, const int64_t *index) {
    int64_t offset = 0;
    for (int d = 0, shift = shape->rank - t->rank; d < t->rank; d++)
        if (t->size[d] != 1) offset += index[d + shift] * t->stride[d];
    return ((double *)t->data)[offset];
}

static void check_sum(sc_ctx *cx, sc_tensor *a, sc_tensor *b, int64_t inner) {
    sc_iter it;
    sc_tensor *out, *in[2] = {a, b};
    assert(sc_iter_begin(cx, &it, 1, (const int[]){SC_F64}, &out, 2, in) == 0);
    assert(it.n == inner);
    if (it.n)
        do {
            double *o = it.p[0], *x = it.p[1], *y = it.p[2];
            for (int64_t i = 0; i < it.n; i++) o[i * it.step[0]] = x[i * it.step[1]] + y[i * it.step[2]];
        } while (sc_iter_next(&it));
    int64_t index[SC_MAX_RANK] = {0};
    for (int64_t k = 0; k < out->numel; k++) {
        int64_t rest = k;
        for (int d = out->rank; d-- > 0;) index[d] = rest % out->size[d], rest /= out->size[d];
        assert(at_index(out, out, index) == at_index(a, out, index) + at_index(b, out, index));
    }
    sc_release(cx, out);
}

static void test_iteration(void) {
    sc_ctx *cx = sc_ctx_new(NULL);
    sc_tensor *a = iota(cx, SC_F64, 3, SIZES(4, 3, 5)), *p = sc_permute(cx, a, SIZES(2, 0, 1), 3);
    sc_tensor *bias = iota(cx, SC_F64, 1, SIZES(5)), *one = iota(cx, SC_F64, 0, NULL), *none = iota(cx, SC_F64, 2, SIZES(0, 5));
    sc_tensor *column = iota(cx, SC_F64, 2, SIZES(3, 1)), *every = sc_slice(cx, a, 2, 0, 5, 2), *three = iota(cx, SC_F64, 1, SIZES(3));
    check_sum(cx, a, a, 60);
    check_sum(cx, a, bias, 5);
    check_sum(cx, bias, a, 5);
    check_sum(cx, a, one, 60);
    check_sum(cx, one, one, 1);
    check_sum(cx, a, column, 15); /* short rows are taken together, through a buffer */
    check_sum(cx, p, p, 60);
    check_sum(cx, p, three, 15);
    check_sum(cx, every, three, 36);
    sc_tensor *row = iota(cx, SC_F64, 1, SIZES(700)), *wide = sc_transpose(cx, iota(cx, SC_F64, 2, SIZES(700, 3)), 0, 1);
    check_sum(cx, column, row, 512); /* long ones in pieces */
    check_sum(cx, wide, row, 510);
    check_sum(cx, none, bias, 0);
    check_sum(cx, none, one, 0);
    sc_iter it;
    sc_tensor *out, *bad[2] = {a, sc_transpose(cx, bias, 0, 0)};
    bad[1] = three;
    assert(sc_iter_begin(cx, &it, 1, (const int[]){SC_F64}, &out, 2, bad) == -1);
    expect_error(cx, "RuntimeError", "The size of tensor a (5) must match the size of tensor b (3) at non-singleton dimension 2");
    assert(sc_iter_into(cx, &it, bias, 1, (sc_tensor *[]){a}) == -1);
    expect_error(cx, "RuntimeError", "output with shape [5] doesn't match the broadcast shape [4, 3, 5]");
    assert(!(bias->storage->flags & SC_WRITTEN));
    assert(sc_iter_into(cx, &it, a, 1, (sc_tensor *[]){bias}) == 0 && (a->storage->flags & SC_WRITTEN));
    a->storage->flags |= SC_READONLY;
    assert(sc_iter_into(cx, &it, a, 1, &bias) == -1);
    sc_ctx_free(cx);
}

static void test_views(void) {
    sc_ctx *cx = sc_ctx_new(NULL);
    sc_tensor *a = iota(cx, SC_I64, 2, SIZES(3, 4)), *t = sc_transpose(cx, a, 0, 1);
    assert(!sc_view(cx, t, SIZES(12), 1) && strstr(cx->error.message, "view size is not compatible"));
    sc_tensor *flat = sc_reshape(cx, t, SIZES(-1), 1);
    assert(flat->numel == 12 && ((int64_t *)flat->data)[1] == 4);
    assert(sc_split(cx, a, 3, 1)->len == 2 && sc_chunk(cx, a, 3, 1)->len == 2 && sc_unbind(cx, a, 0)->len == 3);
    sc_tensor *empty = sc_slice(cx, a, 1, 3, 1, INT64_MAX);
    assert(empty->numel == 0 && empty->size[1] == 0 && sc_chunk(cx, empty, 3, 1)->len == 3);
    sc_tensor *e = sc_expand(cx, flat, SIZES(5, -1), 2);
    assert(e->stride[0] == 0 && e->numel == 60 && !sc_copy_into(cx, a, a));
    assert(sc_copy_into(cx, e, flat) == -1 && strstr(cx->error.message, "more than one element"));
    int64_t i;
    bool truth;
    assert(sc_item_i64(cx, sc_select(cx, flat, 0, -1), &i) == 0 && i == 11);
    assert(sc_item_bool(cx, empty, &truth) == -1);
    expect_error(cx, "RuntimeError", "Boolean value of Tensor with no values is ambiguous");
    sc_ctx_free(cx);
}

static void test_long_sums(void) {
    sc_ctx *cx = sc_ctx_new(NULL);
    int64_t n = 3000017;
    sc_tensor *ones = sc_full(cx, SC_F32, &n, 1, 0.1, 0);
    sc_tensor *row = sc_reduce(cx, ones, SC_SUM, NULL, 0, false, SC_F32);
    double exact = (double)0.1f * (double)n;
    assert(fabs(*(float *)row->data - exact) < 1e-6 * exact);
    sc_tensor *columns = sc_view(cx, sc_narrow(cx, ones, 0, 0, 3000000), SIZES(-1, 3), 2);
    sc_tensor *sums = sc_reduce(cx, columns, SC_SUM, SIZES(0), 1, false, SC_F32);
    for (int j = 0; j < 3; j++) assert(fabs(((float *)sums->data)[j] - 100000.0) < 0.1);
    sc_ctx_free(cx);
}

int main(void) {
    test_dicts();
    test_tables();
    test_values_in_line();
    test_keys_in_parts();
    test_parts_of_keys_are_counted();
    test_failing_dicts();
    test_counts();
    test_size_classes();
    test_blocks_that_outlive_a_call();
    test_weights_share_blocks();
    test_lists();
    test_iteration();
    test_views();
    test_long_sums();
    test_every_failing_allocation();
    puts("ok");
    return 0;
}

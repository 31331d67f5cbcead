/* sc_core.c - contexts, counted objects, storage recycling, errors, strings and lists. */
#include "sc_libc_blocks.h"

#include <stdarg.h>
#include <stdio.h>

#include "../include/sc_str.h"
#include "sc_poison.h"
#include "sc_tables.h"

/* One size for the structs of all objects except storages with data: they are recycled through one list. */
#define STRUCT_BYTES sizeof(sc_tensor)
_Static_assert(sizeof(sc_storage) <= STRUCT_BYTES && sizeof(sc_list) <= STRUCT_BYTES && sizeof(sc_dict) <= STRUCT_BYTES && sizeof(sc_packed) <= STRUCT_BYTES,
               "every object fits a recycled struct");

/* A block: the sc_storage, then its data at the next multiple of SC_ALIGN. */
#define BLOCK_OVERHEAD (sizeof(sc_storage) + SC_ALIGN)

/* ---- memory ---- */

static void *system_realloc(sc_ctx *cx, void *block, size_t old, size_t nbytes) {
    cx->n_system++;
    void *p = cx->alloc.realloc(cx->alloc.user, block, old, nbytes);
    if (!p && nbytes && (cx->bytes_cached || cx->n_tables)) { /* free the cached blocks and try again */
        sc_ctx_trim(cx, 0);
        p = cx->alloc.realloc(cx->alloc.user, block, old, nbytes);
    }
    return p;
}

static void system_free(sc_ctx *cx, void *block, size_t nbytes) {
    cx->alloc.realloc(cx->alloc.user, block, nbytes, 0);
}

void *sc_memory(sc_ctx *cx, void *block, size_t old, size_t nbytes) {
    if (!nbytes) {
        if (block) system_free(cx, block, old);
        return NULL;
    }
    void *p = nbytes <= PTRDIFF_MAX ? system_realloc(cx, block, old, nbytes) : NULL;
    if (!p) sc_raise(cx, "MemoryError", "%s", "");
    return p;
}

/* Size class k holds blocks of (16 + k % 16) << k / 16 fours of bytes: 64, 68, 72, ... 128, 136, ...: at most a sixteenth more
 * than was asked for. A free block of a larger class does too, up to four times as large: a net then uses few blocks, which stay in
 * the caches. What outlives the call gets a block that fits. Later storages of its size get only a block that fits, if one did not
 * or if a copy of so many bytes is COSTLY, which no near cache keeps in any case. */
enum { FAR_BINS = 32, FITTING_BINS = 4, COSTLY = 2 << 20 };

static inline int bin_of(size_t nbytes) {
    if (nbytes <= 64) return 0;
    size_t last = nbytes - 1;
    int log2 = 63 - __builtin_clzll(last);
    return (log2 - 6) * 16 + (int)((last >> (log2 - 4)) & 15) + 1;
}

static inline size_t bin_bytes(int bin) {
    return (size_t)(16 + (bin & 15)) << (bin >> 4) << 2;
}

static inline void link_live(sc_ctx *cx, sc_obj *o, int kind) {
    o->refs = 1;
    o->kind = (uint8_t)kind;
    o->next = &cx->live;
    o->prev = cx->live.prev;
    cx->live.prev->next = o;
    cx->live.prev = o;
}

static inline void unlink_live(sc_obj *o) {
    o->prev->next = o->next;
    o->next->prev = o->prev;
}

static inline void *take_from(sc_ctx *cx, sc_obj **recycled, size_t nbytes, int kind) {
    sc_obj *o = *recycled;
    if (o) {
        UNPOISON(o, nbytes);
        *recycled = o->next;
    } else if (!(o = system_realloc(cx, NULL, 0, nbytes))) {
        sc_raise(cx, "MemoryError", "%s", "");
        return NULL;
    }
    link_live(cx, o, kind);
    return o;
}

static inline void give_to(sc_obj **recycled, size_t nbytes, sc_obj *o) {
    o->next = *recycled;
    *recycled = o;
    POISON(o, nbytes);
}

void *sc_object(sc_ctx *cx, int kind) {
    return take_from(cx, &cx->free_tensors, STRUCT_BYTES, kind);
}

static inline void give_struct(sc_ctx *cx, sc_obj *o) {
    give_to(&cx->free_tensors, STRUCT_BYTES, o);
}

static void free_recycled(sc_ctx *cx, sc_obj *o, size_t nbytes) {
    for (sc_obj *next; o; o = next) {
        UNPOISON(o, nbytes);
        next = o->next;
        system_free(cx, o, nbytes);
    }
}

static sc_storage *storage_new(sc_ctx *cx, size_t nbytes) {
    int bin = bin_of(nbytes), free_bin = bin;
    int most = bin < SC_BINS && cx->outlives[bin] ? FITTING_BINS : FAR_BINS;
    while (free_bin + 1 < SC_BINS && free_bin < bin + most && !cx->bin[free_bin]) free_bin++;
    sc_storage *s;
    if (bin < SC_BINS && (s = cx->bin[free_bin])) {
        UNPOISON(s, sizeof *s);
        UNPOISON(s->data, nbytes);
        cx->bin[free_bin] = (sc_storage *)s->obj.next;
        cx->bytes_cached -= s->capacity;
    } else {
        size_t capacity = bin < SC_BINS ? bin_bytes(bin) : nbytes;
        s = capacity < SIZE_MAX - BLOCK_OVERHEAD ? system_realloc(cx, NULL, 0, capacity + BLOCK_OVERHEAD) : NULL;
        if (!s) {
            sc_raise(cx, "RuntimeError",
                     "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried "
                     "to allocate %zu bytes. Error code 12 (Cannot allocate memory)",
                     nbytes);
            return NULL;
        }
        s->data = (void *)(((uintptr_t)(s + 1) + SC_ALIGN - 1) & ~(uintptr_t)(SC_ALIGN - 1));
        s->capacity = capacity;
        POISON((char *)s->data + nbytes, capacity - nbytes);
    }
    s->nbytes = nbytes;
    s->flags = 0;
    s->index = -1;
    s->owner = NULL;
    link_live(cx, &s->obj, SC_STORAGE);
    cx->bytes_live += s->capacity;
    if (cx->bytes_live > cx->bytes_peak) cx->bytes_peak = cx->bytes_live;
    cx->asked_live += nbytes;
    if (cx->asked_live > cx->asked_peak) cx->asked_peak = cx->asked_live;
    return s;
}

static void storage_recycle(sc_ctx *cx, sc_storage *s) {
    if (s->flags & SC_EXTERNAL) {
        give_struct(cx, &s->obj);
        return;
    }
    int bin = bin_of(s->capacity);
    cx->bytes_live -= s->capacity;
    cx->asked_live -= s->nbytes;
    if (bin >= SC_BINS) {
        system_free(cx, s, s->capacity + BLOCK_OVERHEAD);
        return;
    }
    s->obj.next = (sc_obj *)cx->bin[bin];
    cx->bin[bin] = s;
    cx->bytes_cached += s->capacity;
    POISON(s->data, s->capacity);
    POISON(s, sizeof *s);
}

void sc_ctx_trim(sc_ctx *cx, size_t keep) {
    if (!keep) sc_tables_free(cx);
    for (int bin = SC_BINS - 1; bin >= 0; bin--)
        while (cx->bin[bin] && cx->bytes_cached > keep) {
            sc_storage *s = cx->bin[bin];
            UNPOISON(s, sizeof *s);
            UNPOISON(s->data, s->capacity);
            cx->bin[bin] = (sc_storage *)s->obj.next;
            cx->bytes_cached -= s->capacity;
            system_free(cx, s, s->capacity + BLOCK_OVERHEAD);
        }
}

/* ---- contexts ---- */

sc_ctx *sc_ctx_new(const sc_allocator *alloc) {
    sc_allocator a = alloc ? *alloc : (sc_allocator){libc_realloc, NULL};
    sc_ctx *cx = a.realloc(a.user, NULL, 0, sizeof *cx);
    if (!cx) return NULL;
    memset(cx, 0, sizeof *cx);
    cx->live.prev = cx->live.next = &cx->live;
    cx->kept.prev = cx->kept.next = &cx->kept;
    cx->alloc = a;
    cx->has_libc = !alloc;
    cx->error.loc = -1;
    cx->num_threads = 1;
    return cx;
}

static void unwind_list(sc_ctx *cx, sc_obj *sentinel);

void sc_ctx_free(sc_ctx *cx) {
    if (!cx) return;
    sc_ctx_unwind(cx);
    unwind_list(cx, &cx->kept);
    for (int i = 0; i < cx->n_targets; i++)
        if (cx->targets[i].leaves) system_free(cx, cx->targets[i].leaves, (size_t)cx->targets[i].cap * sizeof(sc_value));
    if (cx->targets) system_free(cx, cx->targets, (size_t)cx->n_targets * sizeof *cx->targets);
    if (cx->kept_index) system_free(cx, cx->kept_index, (size_t)cx->n_kept * sizeof *cx->kept_index);
    for (struct sc_room *room = cx->rooms, *next; room; room = next) {
        next = room->next;
        system_free(cx, room, SC_ROOM_BYTES);
    }
    sc_ctx_trim(cx, 0);
    free_recycled(cx, cx->free_tensors, STRUCT_BYTES);
    free_recycled(cx, cx->free_strs, SC_STR_BYTES);
    sc_allocator a = cx->alloc;
    a.realloc(a.user, cx, sizeof *cx, 0);
}

/* Recycle the memory that one object owns. Objects that it refers to are in the live list too. */
static void recycle(sc_ctx *cx, sc_obj *o) {
    if (o->kind == SC_STORAGE) {
        storage_recycle(cx, (sc_storage *)o);
        return;
    }
    if (o->kind == SC_STR) {
        give_to(&cx->free_strs, SC_STR_BYTES, o);
        return;
    }
    if (o->kind == SC_DICT) sc_table_give(cx, (sc_dict *)o);
    if (o->kind == SC_EXC) {
        system_free(cx, o, sizeof(sc_exc));
        return;
    }
    give_struct(cx, o);
}

static void unwind_list(sc_ctx *cx, sc_obj *sentinel) {
    for (sc_obj *o = sentinel->next, *next; o != sentinel; o = next) {
        next = o->next;
        recycle(cx, o);
    }
    sentinel->prev = sentinel->next = sentinel;
}

void sc_ctx_unwind(sc_ctx *cx) {
    unwind_list(cx, &cx->live);
    /* drop the references of the failed call */
    for (int i = 0; i < cx->n_kept; i++) cx->kept_index[i].object->refs = 1;
    cx->depth = 0;
    if (cx->n_set)
        for (int i = 0; i < cx->n_targets; i++) cx->targets[i].form = SC_UNSET, cx->targets[i].was_deleted = false;
    cx->n_set = 0;
}

int64_t sc_ctx_count_live(const sc_ctx *cx) {
    int64_t n = 0;
    for (const sc_obj *o = cx->live.next; o != &cx->live; o = o->next) n++;
    return n;
}

/* ---- errors ---- */

int sc_raise(sc_ctx *cx, const char *type, const char *format, ...) {
    va_list args;
    va_start(args, format);
    snprintf(cx->error.type, sizeof cx->error.type, "%s", type);
    vsnprintf(cx->error.message, sizeof cx->error.message, format, args);
    va_end(args);
    cx->error.loc = -1;
    return -1;
}

int sc_fail_at(sc_ctx *cx, int loc) {
    if (cx->error.loc < 0) cx->error.loc = loc;
    return -1;
}

int sc_stop(sc_ctx *cx) {
    return cx->on_stop ? cx->on_stop(cx) : 0;
}

sc_exc *sc_catch(sc_ctx *cx, int64_t depth) {
    cx->depth = depth;
    sc_exc *e = system_realloc(cx, NULL, 0, sizeof *e);
    if (!e) {
        sc_raise(cx, "MemoryError", "%s", "");
        return NULL;
    }
    link_live(cx, &e->obj, SC_EXC);
    e->error = cx->error;
    cx->error.type[0] = cx->error.message[0] = 0;
    cx->error.loc = -1;
    return e;
}

int sc_reraise(sc_ctx *cx, const sc_exc *e) {
    cx->error = e->error;
    return -1;
}

bool sc_exc_is(const sc_exc *e, const char *types) {
    for (; *types; types += strlen(types) + 1)
        if (!strcmp(e->error.type, types)) return true;
    return false;
}

void sc_warn(sc_ctx *cx, int loc, const char *category, const char *message) {
    if (cx->warn) cx->warn(cx->user, category, message, loc >= 0 && cx->locs ? &cx->locs[loc] : NULL);
}

/* ---- counts ---- */

static void free_object(sc_ctx *cx, sc_obj *o) {
    if (o->kind == SC_PACKED) {
        sc_release(cx, ((sc_packed *)o)->storage);
        sc_release(cx, ((sc_packed *)o)->source);
        sc_release(cx, ((sc_packed *)o)->kept);
    }
    if (o->kind == SC_STR) sc_release(cx, ((sc_str *)o)->storage);
    if (o->kind == SC_LIST) {
        sc_list *l = (sc_list *)o;
        for (int64_t i = 0; (l->holds == SC_OBJECTS || l->mask) && i < l->len; i++)
            if (l->holds == SC_OBJECTS || sc_mask_counts(l->mask, i)) sc_release(cx, l->items[i].o);
        sc_release(cx, l->storage);
    }
    if (o->kind == SC_DICT) sc_table_release(cx, (sc_dict *)o);
    recycle(cx, o);
}

void sc_free(sc_ctx *cx, sc_obj *o) {
    if (!o->prev) return; /* detached: its new owner frees it */
    unlink_live(o);
    if (o->kind == SC_TENSOR) { /* the most common kind in loops */
        sc_storage *s = ((sc_tensor *)o)->storage;
        give_struct(cx, o);
        if (!s || s->obj.refs == SC_IMMORTAL || --s->obj.refs > 0 || !s->obj.prev) return;
        unlink_live(&s->obj);
        storage_recycle(cx, s);
        return;
    }
    sc_list *l = (sc_list *)o;
    if (o->kind == SC_LIST && !l->mask && l->holds != SC_OBJECTS) { /* no chain of objects begins here */
        sc_storage *storage = l->storage;
        give_struct(cx, o);
        sc_release(cx, storage);
        return;
    }
    o->next = cx->dying; /* referents are freed after it, not recursively: a chain of objects may be long */
    cx->dying = o;
    if (cx->frees) return;
    for (cx->frees = true; (o = cx->dying);) {
        cx->dying = o->next;
        free_object(cx, o);
    }
    cx->frees = false;
}

sc_storage *sc_storage_fitting(sc_ctx *cx, sc_storage *s) {
    int bin = bin_of(s->nbytes);
    if (s->flags & SC_EXTERNAL || bin >= SC_BINS) return s;
    bool fits = bin_of(s->capacity) <= bin + FITTING_BINS;
    if (!fits || s->nbytes >= COSTLY) cx->outlives[bin] = true;
    if (fits) return s;
    size_t asked = cx->asked_peak;
    sc_error before = cx->error;
    sc_storage *copy = storage_new(cx, s->nbytes);
    cx->asked_peak = asked; /* the program needs one of the two */
    if (copy) memcpy(copy->data, s->data, s->nbytes);
    else cx->error = before;
    return copy ? copy : s;
}

sc_storage *sc_storage_detach(sc_ctx *cx, sc_storage *s) {
    s = sc_storage_fitting(cx, s);
    unlink_live(&s->obj);
    s->obj.prev = s->obj.next = NULL;
    cx->bytes_live -= s->capacity;
    cx->asked_live -= s->nbytes;
    return s;
}

void sc_storage_free_detached(sc_storage *s) {
    if (s && s->capacity) UNPOISON(s->data, s->capacity);
    free(s);
}

/* ---- tensors ---- */

/* Make a tensor. Takes over the reference to s, even on failure. */
static inline sc_tensor *tensor_new(sc_ctx *cx, sc_storage *s, void *data, int dtype, int64_t numel, int rank, const int64_t *size,
                                    const int64_t *stride) {
    sc_tensor *t = sc_object(cx, SC_TENSOR);
    if (!t) {
        sc_release(cx, s);
        return NULL;
    }
    t->dtype = (uint8_t)dtype;
    t->rank = (uint8_t)rank;
    t->leaf = SC_NO_LEAF;
    t->storage = s;
    t->data = data;
    t->owner = NULL;
    t->numel = numel;
    for (int d = 0; d < rank; d++) {
        t->size[d] = size[d];
        t->stride[d] = stride[d];
    }
    return t;
}

static int check_new(sc_ctx *cx, const int64_t *size, int rank) {
    if (rank > SC_MAX_RANK)
        return sc_raise(cx, "RuntimeError", "tensors of more than %d dimensions are not supported", SC_MAX_RANK);
    for (int d = 0; d < rank; d++)
        if (size[d] < 0)
            return sc_raise(cx, "RuntimeError", "Trying to create tensor with negative dimension %lld: %s",
                            (long long)size[d], sc_sizes_text(size, rank).s);
    return 0;
}

static int check_numel(sc_ctx *cx, const int64_t *size, int rank, int64_t *numel) {
    if (sc_count_elements(size, rank, numel)) return 0;
    return sc_raise(cx, "RuntimeError", "numel: integer multiplication overflow");
}

/* Compute the strides and the numbers of elements and bytes for sizes that are not all positive or whose product is too
 * large, or raise eager's error. */
__attribute__((cold)) static int odd_layout(sc_ctx *cx, int64_t item, int rank, const int64_t *size, int64_t *stride,
                                            int64_t *numel, int64_t *bytes) {
    int64_t next = 1;
    if (check_new(cx, size, rank)) return -1;
    if (!sc_count_elements(size, rank, numel) || __builtin_mul_overflow(*numel, item, bytes))
        return sc_raise(cx, "RuntimeError", "Storage size calculation overflowed with sizes=%s", sc_sizes_text(size, rank).s);
    for (int d = rank; d-- > 0;) {
        stride[d] = next;
        if (d && __builtin_mul_overflow(next, size[d] ? size[d] : 1, &next))
            return sc_raise(cx, "RuntimeError", "Stride calculation overflowed");
    }
    return 0;
}

sc_tensor *sc_empty(sc_ctx *cx, int dtype, int rank, const int64_t *size) {
    int64_t bytes = 0, stride[SC_MAX_RANK], next = 1, item = (int64_t)sc_dtype_size(dtype);
    bool plain = rank <= SC_MAX_RANK;
    for (int d = rank; plain && d-- > 0;) {
        stride[d] = next;
        plain = size[d] > 0 && !__builtin_mul_overflow(next, size[d], &next);
    }
    plain = plain && !__builtin_mul_overflow(next, item, &bytes);
    if (!plain && odd_layout(cx, item, rank, size, stride, &next, &bytes) < 0) return NULL;
    sc_storage *s = storage_new(cx, (size_t)bytes);
    return s ? tensor_new(cx, s, s->data, dtype, next, rank, size, stride) : NULL;
}

sc_tensor *sc_empty_strided(sc_ctx *cx, int dtype, int rank, const int64_t *size, const int64_t *stride) {
    if (check_new(cx, size, rank)) return NULL;
    int64_t bytes, numel;
    if (!sc_extent_bytes(size, stride, rank, 0, sc_dtype_size(dtype), &bytes)) {
        sc_raise(cx, "RuntimeError", "Storage size calculation overflowed with sizes=%s and strides=%s",
                 sc_sizes_text(size, rank).s, sc_sizes_text(stride, rank).s);
        return NULL;
    }
    if (check_numel(cx, size, rank, &numel)) return NULL;
    sc_storage *s = storage_new(cx, (size_t)bytes);
    return s ? tensor_new(cx, s, s->data, dtype, numel, rank, size, stride) : NULL;
}

sc_tensor *sc_view_of(sc_ctx *cx, const sc_tensor *base, int64_t offset, int rank, const int64_t *size,
                      const int64_t *stride) {
    int64_t numel;
    if (check_new(cx, size, rank) || check_numel(cx, size, rank, &numel)) return NULL;
    sc_retain(base->storage);
    sc_tensor *t = tensor_new(cx, base->storage, sc_address(base, offset), base->dtype, numel, rank, size, stride);
    if (t) t->leaf = sc_leaf_of_view(base->leaf);
    return t;
}

sc_tensor *sc_from_external(sc_ctx *cx, void *data, size_t nbytes, int dtype, int rank, const int64_t *size,
                            const int64_t *stride, uint32_t flags, int32_t index, void *owner) {
    int64_t numel;
    if (check_new(cx, size, rank) || check_numel(cx, size, rank, &numel)) return NULL;
    sc_storage *s = sc_object(cx, SC_STORAGE);
    if (!s) return NULL;
    s->data = data;
    s->nbytes = nbytes;
    s->capacity = 0;
    s->flags = flags | SC_EXTERNAL;
    s->index = index;
    s->owner = owner;
    return tensor_new(cx, s, data, dtype, numel, rank, size, stride);
}

bool sc_is_contiguous(const sc_tensor *t) {
    int64_t expected = 1;
    for (int d = t->rank; d-- > 0;) {
        if (t->size[d] == 1) continue;
        if (t->stride[d] != expected) return t->numel == 0;
        expected = sc_wrapped_product(expected, t->size[d]);
    }
    return true;
}

/* ---- strings ---- */

int sc_str_reserve(sc_ctx *cx, sc_str *s, size_t nbytes) {
    if (nbytes <= sc_str_room(s)) return 0;
    sc_storage *larger = storage_new(cx, nbytes);
    if (!larger) return sc_raise(cx, "MemoryError", "%s", "");
    memcpy(larger->data, s->data, (size_t)s->len * s->width);
    sc_release(cx, s->storage);
    s->storage = larger;
    s->data = larger->data;
    return 0;
}

sc_str *sc_str_new(sc_ctx *cx, int width, int64_t len) {
    size_t nbytes;
    if (len < 0 || __builtin_mul_overflow((size_t)len, (size_t)width, &nbytes) || nbytes > PTRDIFF_MAX) {
        sc_raise(cx, "MemoryError", "%s", "");
        return NULL;
    }
    sc_str *s = take_from(cx, &cx->free_strs, SC_STR_BYTES, SC_STR);
    if (!s) return NULL;
    *s = (sc_str){.obj = s->obj, .width = (uint8_t)width, .data = s + 1};
    if (nbytes > SC_STR_BYTES - sizeof *s && sc_str_reserve(cx, s, nbytes)) {
        sc_release(cx, s);
        return NULL;
    }
    s->len = len;
    return s;
}

uint64_t sc_str_hash_of(const sc_str *s) {
    uint64_t h = SC_STR_HASH_BASIS;
    for (int64_t i = 0; i < s->len; i++) h = (h ^ sc_str_code(s, i)) * SC_STR_HASH_PRIME;
    h ^= h >> 32;
    if (h == 0) h = 1;
    ((sc_str *)s)->hash = h; /* constants contain their hash */
    return h;
}

/* ---- lists ---- */

/* Make room for `cap` items. Those of a short list follow its struct, and others are in recycled blocks, so that a list
 * made in every iteration costs no allocation. */
static int list_reserve(sc_ctx *cx, sc_list *l, int64_t cap) {
    size_t width = l->holds == SC_BOOLS ? 1 : sizeof(sc_value), bytes;
    bool overflow = __builtin_mul_overflow((size_t)cap, width, &bytes) || bytes > PTRDIFF_MAX;
    sc_storage *larger = overflow ? NULL : storage_new(cx, bytes);
    if (!larger) return sc_raise(cx, "MemoryError", "%s", "");
    if (l->len) memcpy(larger->data, l->items, (size_t)l->len * width);
    sc_release(cx, l->storage);
    l->storage = larger;
    l->items = larger->data;
    l->cap = cap;
    return 0;
}

sc_list *sc_list_new(sc_ctx *cx, sc_items holds, int64_t capacity) {
    sc_list *l = sc_object(cx, SC_LIST);
    if (!l) return NULL;
    l->holds = (uint8_t)holds;
    l->mask = 0;
    l->written = false;
    l->owner = NULL;
    l->len = l->hashed = 0;
    l->hash_sum = SC_HASH_START;
    l->storage = NULL;
    l->cap = (int64_t)((STRUCT_BYTES - sizeof *l) / (holds == SC_BOOLS ? 1 : sizeof(sc_value)));
    l->items = (sc_value *)(void *)(l + 1);
    if (capacity > l->cap && list_reserve(cx, l, capacity)) {
        sc_release(cx, l);
        return NULL;
    }
    return l;
}

int sc_list_grow(sc_ctx *cx, sc_list *l, int64_t len) {
    return len <= l->cap ? 0 : list_reserve(cx, l, len > 2 * l->cap ? len : 2 * l->cap);
}

/* sc.h - the objects that generated code, kernels and callers share.
 *
 * One call of a compiled entry owns one sc_ctx. Every object made during the call (tensor, storage, list, str) is
 * reference counted and also stands in the context's live list, so an error unwinds everything at once and
 * nothing can leak. Nothing here is global; a context belongs to one call on one thread at a time.
 *
 * Convention of every function that may fail: it returns NULL (objects) or -1 (int) after sc_raise() has filled
 * ctx->error. A function that returns an object returns a reference that the caller owns; arguments are borrowed.
 */
#ifndef SC_H
#define SC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SC_ABI_VERSION 19
#define SC_MAX_RANK 12    /* dimensions of a tensor */
#define SC_MAX_OPERANDS 16 /* operands (results first) of one sc_iter */
#define SC_ALIGN 64       /* bytes: alignment of every storage that we allocate */

/* The storage class of functions that are compiled once per ISA level: `static` when one translation unit per level holds
 * kernels and program (see sc_all.c), else shared by the files of the library. */
#ifdef SC_UNITY
#define SC_KERNEL static __attribute__((unused))
#else
#define SC_KERNEL __attribute__((visibility("hidden")))
#endif

/* ORDER DTYPE: ir/dtypes.py, sc_dtype_size */
typedef enum sc_dtype {
    SC_BOOL, SC_U8, SC_I8, SC_I16, SC_I32, SC_I64, SC_F16, SC_BF16, SC_F32, SC_F64, SC_C64, SC_C128,
    SC_NDTYPES
} sc_dtype;

static inline size_t sc_dtype_size(int dtype) {
    static const uint8_t bytes[SC_NDTYPES] = {1, 1, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16};
    return bytes[dtype];
}

typedef enum sc_kind { SC_TENSOR, SC_STORAGE, SC_LIST, SC_PACKED, SC_STR, SC_EXC, SC_DICT } sc_kind;

enum { SC_IMMORTAL = INT32_MIN }; /* `refs` of constants, which are never counted or freed */

/* Head of every counted object. prev/next link the live list of the context that made it. */
typedef struct sc_obj {
    struct sc_obj *prev, *next;
    int32_t refs;
    uint8_t kind; /* sc_kind */
} sc_obj;

enum { SC_EXTERNAL = 1, /* data belongs to `owner`; the runtime neither frees nor resizes it */
       SC_WRITTEN = 2,  /* written during this call: the caller bumps the version of the owner */
       SC_READONLY = 4, /* writing raises: weights of an ahead-of-time build, read-only numpy arrays */
       SC_PARTIAL = 8   /* external: the caller's storage begins before `data` */ };

typedef struct sc_storage {
    sc_obj obj;
    void *data;
    size_t nbytes;   /* usable bytes at data */
    size_t capacity; /* bytes of the block (its size class), 0 if external */
    uint32_t flags;
    int32_t index;   /* external: index given by the caller, else -1 */
    void *owner;     /* external: for the caller's use */
} sc_storage;

/* The kind of a tensor for autograd, which decides whether in-place writes to the tensor and its views raise. All but
 * SC_NO_LEAF require grad; SC_NO_LEAF also stands for tensors of which autograd did not tell. SC_UNRECORDED stands for all
 * tensors that require grad in a call outside of grad mode, where autograd protects nothing. */
typedef enum sc_leaf_kind { SC_NO_LEAF, SC_LEAF, SC_VIEW_OF_LEAF, SC_COMPUTED, SC_UNRECORDED } sc_leaf_kind;

static inline uint8_t sc_leaf_of_view(uint8_t base) {
    return base == SC_LEAF ? SC_VIEW_OF_LEAF : base;
}

/* A strided view of a storage. Strides count elements. Two tensor objects may share one storage. */
typedef struct sc_tensor {
    sc_obj obj;
    uint8_t dtype; /* sc_dtype */
    uint8_t rank;
    uint8_t leaf;        /* sc_leaf_kind */
    sc_storage *storage; /* counted */
    void *data;          /* storage->data + offset */
    void *owner;         /* caller's object if this tensor is an argument, else NULL */
    int64_t numel;
    int64_t size[SC_MAX_RANK];
    int64_t stride[SC_MAX_RANK];
} sc_tensor;

/* A str. All code points have as many bytes as the largest of them needs, so that equal strings have equal bytes. A str
 * is appended to in place only if its reference count is one (sc_str_concat), so no other value sees the change. */
typedef struct sc_str {
    sc_obj obj;
    uint8_t width;       /* bytes a code point: 1, 2 or 4 */
    int64_t len;         /* code points */
    uint64_t hash;       /* 0: not computed yet (sc_str_hash) */
    sc_storage *storage; /* counted; NULL if data follows this struct, or is constant */
    void *data;
} sc_str;

enum { SC_STR_BYTES = 96 }; /* the struct, followed by the data of a short string */

static inline size_t sc_str_room(const sc_str *s) { /* writable bytes at data; 0 for constants */
    return s->storage ? s->storage->nbytes : s->data == s + 1 ? SC_STR_BYTES - sizeof *s : 0;
}

struct sc_list;
struct sc_dict;
typedef union sc_value { /* one Python value at a boundary or in a list; the static type tells the member */
    int64_t i;
    double f;
    bool b;
    void *p;
    sc_obj *o;
    sc_tensor *t;
    sc_str *s;
    struct sc_list *l;
    struct sc_dict *d;
} sc_value;

typedef enum sc_items { /* the elements of a list, as its static type tells */
    SC_VALUES,
    SC_OBJECTS, /* sc_obj, which the list retains */
    SC_BOOLS    /* one byte each */
} sc_items;

#define SC_HASH_START UINT64_C(2870177450012600261) /* of the sum over the items of a tuple */

typedef struct sc_list {
    sc_obj obj;
    uint8_t holds; /* sc_items */
    bool written; /* mutated during this call */
    uint64_t mask; /* a tuple in a list: which of its items are sc_obj, among the first 63; 0 for lists */
    void *owner;  /* caller's object if this is an argument, else NULL */
    int64_t len, cap;
    sc_storage *storage; /* counted: holds the items; NULL while they fit after this struct */
    union {
        sc_value *items;
        uint8_t *bools; /* of SC_BOOLS: 0 and 1. GCC makes no vector code of loops over bool */
    };
    int64_t hashed;    /* of a tuple: `hash_sum` is the sum over so many first items (sc_dict.c) */
    uint64_t hash_sum; /* a longer tuple that begins with this one need not hash its items again */
} sc_list;

/* One key of a dict. A key that is a tuple is a list as above. If keys are tuples of any length, one more value follows, for
 * keys in parts (sc_in_parts). The leaves of the key's value come last. */
typedef struct sc_item {
    uint64_t hash; /* Python's; SC_HOLE, which is none of Python's, where the key was removed */
    sc_value key;
} sc_item;
#define SC_HOLE UINT64_MAX

/* A dict in the order of insertion, or a set, which is a dict without values (sc_dict.c). */
typedef struct sc_dict {
    sc_obj obj;
    bool is_set;
    bool counted;     /* values are sc_obj and are retained */
    uint8_t width;    /* leaves of a value: more than one for tuples of numbers, none in a set */
    uint8_t stride;   /* of items, in values */
    bool written;     /* changed during this call */
    bool sorted;      /* of a set: items are in the iteration order of Python's set */
    const char *kind; /* types of the keys: a letter of "ifbs", several in parentheses for a tuple, one in brackets for a
                         tuple of any length, which is an sc_list */
    void *owner;      /* caller's object if this is an argument, else NULL */
    int64_t len;      /* keys */
    int64_t n, cap;   /* items, holes included */
    int64_t changes;  /* insertions and removals of keys so far */
    uint64_t mask;    /* the table has mask + 1 slots */
    int64_t fill;     /* slots in use, those of removed keys included */
    int64_t room;     /* of a dict: the number of items that needs more memory, or a larger table */
    uint64_t finger;  /* the slot at which set.pop() begins to search */
    int32_t *slot;    /* number of an item, or less than 0 */
    void *items;      /* sc_item, each with the leaves of its value */
} sc_dict;

typedef struct sc_table { /* the memory of a dict that died, with empty slots (sc_tables.c) */
    int32_t *slot;
    void *items;
    size_t nbytes; /* at items */
    uint64_t mask;
} sc_table;

/* Return an item of a dict. stride: d->stride, which compiled code knows. */
static inline sc_item *sc_dict_item(const sc_dict *d, int64_t number, int stride) {
    return (sc_item *)(void *)((sc_value *)d->items + number * stride);
}

/* Return all of an item as an array. The leaves of its value begin at stride - width. */
static inline sc_value *sc_dict_row(const sc_dict *d, int64_t number, int stride) {
    return (sc_value *)d->items + number * stride;
}

static inline sc_value *sc_dict_value(const sc_dict *d, int64_t number) {
    return sc_dict_row(d, number + 1, d->stride) - d->width;
}

/* A key that was made by appending an item to a tuple may consist of that tuple, whose address then is one more, and the item. It
 * is made whole when the program reads it. */
static inline bool sc_in_parts(sc_value key) {
    return (uintptr_t)key.p & 1;
}

static inline void *sc_front_of_parts(sc_list *front) {
    return (char *)front + 1;
}

static inline sc_list *sc_key_front(sc_value key) {
    return (sc_list *)(void *)((char *)key.p - 1);
}

static inline size_t sc_item_bytes(const sc_dict *d) {
    return d->stride * sizeof(sc_value);
}

static inline bool sc_dict_counts_keys(const sc_dict *d) { /* keys are sc_obj and are retained */
    return d->kind[0] == '(' || d->kind[0] == '[' || d->kind[0] == 's';
}

static inline bool sc_dict_has_tuples(const sc_dict *d) { /* keys are tuples of any length */
    return d->kind[0] == '[';
}

/* Where an error arose: one row per raising statement of the user's source. */
typedef struct sc_loc {
    const char *file, *function, *text; /* text: the source line, stripped */
    int line, inlined_at;               /* inlined_at: index of the caller's row in the same table, or -1 */
} sc_loc;

typedef struct sc_error {
    char type[48];      /* name of the Python exception, "" if there is no error */
    char message[1024]; /* eager's message */
    int loc;            /* row of the program's location table, -1 unknown */
} sc_error;

typedef struct sc_exc { /* an exception that was caught */
    sc_obj obj;
    sc_error error;
} sc_exc;

enum { SC_ROOM_BYTES = 32 << 20 }; /* of a block that prepared weights share */
enum { SC_TABLES = 4 }; /* of dicts that died, kept at most */
#define SC_BINS 384 /* size classes: sixteen to each power of two, 64 B to 1 GB; larger blocks are not kept */

typedef struct sc_allocator { /* Lua-style: told the old size; nbytes 0 frees; NULL result = out of memory */
    void *(*realloc)(void *user, void *block, size_t old, size_t nbytes);
    void *user;
} sc_allocator;

/* The generator of random numbers, in the layout of torch.get_rng_state(). */
typedef struct sc_rng {
    uint64_t seed;
    int32_t left, seeded; /* left: words until the state is made anew, plus one */
    uint64_t next, state[624];
    double normal_x, normal_y, normal_rho; /* normal_y: the second of a pair of normal numbers, if valid */
    int32_t normal_is_valid;
    float next_float;
    bool next_float_is_valid;
} sc_rng;

/* A function of one element, which replaces the n elements of each of some rows by its values. Rows are `stride` elements apart. */
typedef void sc_activation(float *x, int64_t rows, int64_t n, int64_t stride);

enum { SC_UNSET = -2, SC_DELETED = -1 };
typedef struct sc_target { /* state outside the call, and the value last assigned to it */
    int form;              /* the form of the value, SC_UNSET or SC_DELETED */
    int order;             /* rank in the order in which targets got a value */
    bool was_deleted;      /* deleted at some time in this call */
    int n, cap;
    const char *kinds;     /* one letter per leaf: o if it is counted */
    sc_value *leaves;
} sc_target;

typedef struct sc_ctx {
    sc_obj live;              /* sentinel of the live list */
    sc_obj *dying;            /* objects without references, to be freed by sc_free(), linked through next */
    bool frees;               /* sc_free() is running */
    bool hides_write;         /* an argument of the kind SC_COMPUTED was written, which autograd does not see */
    sc_obj *free_tensors;     /* recycled sc_tensor structs, linked through next */
    sc_obj *free_strs;        /* recycled blocks of short strings */
    sc_storage *bin[SC_BINS]; /* recycled blocks by size class, linked through obj.next */
    bool outlives[SC_BINS];   /* storages of the class have outlived calls */
    sc_table table[SC_TABLES]; /* recycled tables of dicts */
    int n_tables;
    sc_allocator alloc;
    bool has_libc;            /* blocks come from the C library */
    sc_error error;
    size_t bytes_live, bytes_peak, bytes_cached; /* bytes of blocks: in use, highest use, in bins */
    size_t asked_live, asked_peak; /* bytes that tensors need of the blocks in use, now and at most */
    int64_t n_system;         /* calls of the system allocator, for tests that count */
    int64_t depth;            /* Python calls on the stack, for RecursionError */
    uintptr_t stack_end;      /* no frame of compiled code may begin below this address (sc_stack.c) */
    size_t stack_room;        /* bytes of stack for compiled code; 0: all of the thread's stack */
    int stop;                 /* not 0: loops and recursion ask sc_stop() whether the call is to end; set by other threads and
                                 signal handlers, atomically */
    int (*on_stop)(struct sc_ctx *cx); /* -1 after sc_raise() if the call must end; NULL: it never must */
    int num_threads;          /* at most this many threads; >= 1 */
    struct sc_team *team;     /* threads that may help, shared with other contexts (sc_team.h); NULL: none */
    double unhelped;          /* nanoseconds of work that sleeping helpers could have shared in */
    struct sc_profile *profile; /* the counts of instrumented code (sc_profile.h), or NULL */
    void (*warn)(void *user, const char *category, const char *message, const sc_loc *where);
    void (*print)(void *user, const char *text, size_t nbytes); /* UTF-8; may hold NULs */
    void *user;
    const sc_loc *locs;       /* table of the running program */
    sc_obj kept;              /* sentinel of the objects kept from call to call: prepared weights */
    struct sc_kept { const sc_loc *program; int slot; sc_obj *object; } *kept_index;
    int n_kept;
    struct sc_room { struct sc_room *next; size_t taken; } *rooms; /* blocks that prepared weights share (sc_slots.c) */
    size_t kept_bytes;        /* of prepared weights: more than the third cache holds come from memory in each call */
    void (*on_keep)(struct sc_ctx *cx, size_t nbytes); /* is told that prepared weights of so many bytes are kept; or NULL */
    sc_target *targets;       /* state that the call has assigned, by the program's numbers */
    int n_targets, n_set;
    sc_rng *rng;              /* NULL if the program draws no random numbers */
    uint32_t (*python_word)(void *user); /* the next word for Python's `random`; NULL: of `rng` */
    sc_rng *python_rng;
    sc_rng *(*lend_numpy)(void *user); /* lends the generator of NumPy's `random` for a call; NULL: `numpy_rng` is set */
    sc_rng *numpy_rng;
} sc_ctx;

/* Symbols below are private to the library that they are linked into, whatever the compiler's flags. */
#pragma GCC visibility push(hidden)

/* ---- contexts and errors (sc_core.c) ---- */
sc_ctx *sc_ctx_new(const sc_allocator *alloc); /* NULL alloc: the C library; NULL result: out of memory */
void sc_ctx_free(sc_ctx *cx);                  /* frees all live objects and cached blocks, then cx */
void sc_ctx_unwind(sc_ctx *cx);                /* frees all live objects, whatever their counts: after an error, or at the end */
void sc_ctx_trim(sc_ctx *cx, size_t keep);     /* frees cached blocks until at most `keep` bytes are cached */
int64_t sc_ctx_count_live(const sc_ctx *cx);
/* (sc_slots.c) Objects that outlive the call, by the running program's numbers of slots. kept: the object of a slot,
 * retained, or NULL. keep: the object and its storage live until the context is freed; the caller keeps its reference.
 * storage, data: in the object; data may be NULL. They move to a block that fits. keep_empty: a packed weight whose storage is
 * written later. -1: MemoryError. */
sc_obj *sc_ctx_kept(const sc_ctx *cx, int slot);
int sc_ctx_keep(sc_ctx *cx, int slot, sc_obj *object, sc_storage **storage, void **data);
int sc_ctx_keep_empty(sc_ctx *cx, int slot, sc_obj *object, sc_storage **storage);
bool sc_has_kept(const sc_ctx *cx, int slot);
/* Assign to a target, which retains its leaves until the call's objects are freed. */
int sc_state_set(sc_ctx *cx, int target, int form, int n, const sc_value *leaves, const char *kinds);
int sc_raise(sc_ctx *cx, const char *type, const char *format, ...) __attribute__((cold, format(printf, 3, 4))); /* -1 */
int sc_fail_at(sc_ctx *cx, int loc) __attribute__((cold)); /* records the location, if none is recorded; returns -1 */
sc_exc *sc_catch(sc_ctx *cx, int64_t depth); /* moves the error out of cx; depth: that of the catching frame */
int sc_reraise(sc_ctx *cx, const sc_exc *e); /* -1; keeps the location of the first raise */
bool sc_exc_is(const sc_exc *e, const char *types); /* whether its type is among `types`, each followed by a NUL */
void sc_warn(sc_ctx *cx, int loc, const char *category, const char *message);

/* Return 0, or -1 if the call must end. Long loops and recursive calls ask. `pure` lets loops keep values in registers,
 * which is correct since nothing that the code reads has changed if the call goes on. */
int sc_stop(sc_ctx *cx) __attribute__((cold, pure));
static inline int sc_check_stop(sc_ctx *cx) {
    return __builtin_expect(__atomic_load_n(&cx->stop, __ATOMIC_RELAXED), 0) ? sc_stop(cx) : 0;
}

/* ---- the stack (sc_stack.c) ----
 * Return the lowest address that frames of compiled code may reach. here: the address of the first frame. room: the
 * bytes that they may use; 0: as many as the running thread's stack has. */
uintptr_t sc_stack_end(uintptr_t here, size_t room);

/* ---- objects (sc_core.c) ---- */
void *sc_object(sc_ctx *cx, int kind); /* in the live list, with reference count one, else uninitialized; MemoryError */
/* Reallocate like the allocator. Return NULL after MemoryError. */
void *sc_memory(sc_ctx *cx, void *block, size_t old, size_t nbytes);
void sc_free(sc_ctx *cx, sc_obj *obj); /* the last reference is gone */

static inline void sc_retain(void *obj) { /* NULL is allowed, as in release */
    if (obj && ((sc_obj *)obj)->refs != SC_IMMORTAL) ((sc_obj *)obj)->refs++;
}

static inline void sc_release(sc_ctx *cx, void *obj) {
    if (obj && ((sc_obj *)obj)->refs != SC_IMMORTAL && --((sc_obj *)obj)->refs <= 0) sc_free(cx, (sc_obj *)obj);
}

static inline bool sc_key_last_counts(const sc_dict *d) { /* the last item of a key in parts is an sc_obj */
    return d->kind[1] == 's' || d->kind[1] == '(' || d->kind[1] == '[';
}

static inline void sc_key_release(sc_ctx *cx, const sc_dict *d, const sc_item *item) {
    if (sc_dict_has_tuples(d) && sc_in_parts(item->key)) {
        sc_release(cx, sc_key_front(item->key));
        if (sc_key_last_counts(d)) sc_release(cx, ((const sc_value *)(const void *)(item + 1))->o);
    } else if (sc_dict_counts_keys(d)) sc_release(cx, item->key.o);
}

/* Return an uninitialized, contiguous tensor. Raises eager's RuntimeError on negative sizes, on overflow and when its
 * data cannot be allocated; MemoryError when its object cannot be allocated. */
sc_tensor *sc_empty(sc_ctx *cx, int dtype, int rank, const int64_t *size);
sc_tensor *sc_empty_strided(sc_ctx *cx, int dtype, int rank, const int64_t *size, const int64_t *stride);
/* Return a view of base's storage. offset: elements from base->data. */
sc_tensor *sc_view_of(sc_ctx *cx, const sc_tensor *base, int64_t offset, int rank, const int64_t *size, const int64_t *stride);
/* Return a tensor over memory that the caller keeps alive during the call. */
sc_tensor *sc_from_external(sc_ctx *cx, void *data, size_t nbytes, int dtype, int rank, const int64_t *size,
                            const int64_t *stride, uint32_t flags, int32_t index, void *owner);
bool sc_is_contiguous(const sc_tensor *t);
/* Detach a storage, or a copy whose block fits, from the context. The caller frees it by sc_storage_free_detached. */
sc_storage *sc_storage_detach(sc_ctx *cx, sc_storage *s);
void sc_storage_free_detached(sc_storage *s); /* only for contexts that use the C library's allocator */
/* Return a storage that may outlive the call: `s`, or a copy if its block is far larger than its data, and memory does not end. */
sc_storage *sc_storage_fitting(sc_ctx *cx, sc_storage *s);

/* Return a str of `len` code points. The caller fills them in before any other code sees the str. */
sc_str *sc_str_new(sc_ctx *cx, int width, int64_t len);
int sc_str_reserve(sc_ctx *cx, sc_str *s, size_t nbytes); /* makes room for `nbytes` bytes and keeps the used ones */

uint64_t sc_str_hash_of(const sc_str *s); /* computes the hash: see sc_str_hash */

sc_list *sc_list_new(sc_ctx *cx, sc_items holds, int64_t capacity);
int sc_list_grow(sc_ctx *cx, sc_list *l, int64_t len); /* makes room for at least `len` items */

/* Return whether item i of a tuple with this mask is an sc_obj. */
static inline bool sc_mask_counts(uint64_t mask, int64_t i) {
    return i < 64 && mask >> i & 1;
}

/* Return a tuple as an element of a list, or an object, of these items; nested tuples are flattened. Items in `mask`
 * are retained. */
static inline sc_list *sc_list_tuple(sc_ctx *cx, uint64_t mask, int n, const sc_value *items) {
    sc_list *made = sc_list_new(cx, SC_VALUES, n);
    if (!made) return NULL;
    for (int i = 0; i < n; i++) {
        if (sc_mask_counts(mask, i)) sc_retain(items[i].o);
        made->items[i] = items[i];
    }
    made->len = n;
    made->mask = mask;
    return made;
}

/* Replace n leaves of such a tuple from `at` on. */
static inline void sc_tuple_set(sc_ctx *cx, sc_list *t, int at, int n, const sc_value *leaves) {
    for (int i = 0; i < n; i++) {
        bool counted = sc_mask_counts(t->mask, at + i);
        sc_value old = t->items[at + i];
        if (counted) sc_retain(leaves[i].o);
        t->items[at + i] = leaves[i];
        if (counted) sc_release(cx, old.o);
    }
}

static inline int sc_list_index(sc_ctx *cx, const sc_list *l, int64_t i, int64_t *at) { /* Python's index as 0..len-1 */
    *at = i < 0 ? i + l->len : i;
    return (uint64_t)*at < (uint64_t)l->len ? 0 : (sc_raise(cx, "IndexError", "list index out of range"), -1);
}

/* sc_list_index, for a tuple */
static inline int sc_tuple_index(sc_ctx *cx, const sc_list *t, int64_t i, int64_t *at) {
    *at = i < 0 ? i + t->len : i;
    return (uint64_t)*at < (uint64_t)t->len ? 0 : (sc_raise(cx, "IndexError", "tuple index out of range"), -1);
}

static inline sc_value sc_list_at(const sc_list *l, int64_t i) { /* for any kind of list */
    sc_value v;
    if (l->holds != SC_BOOLS) return l->items[i];
    v.i = 0;
    v.b = l->bools[i];
    return v;
}

/* Append an item. holds: a constant in compiled code, elsewhere l->holds. Objects are retained. */
static inline int sc_list_append(sc_ctx *cx, sc_list *l, int holds, sc_value v) {
    if (l->len == l->cap && sc_list_grow(cx, l, l->len + 1) < 0) return -1;
    if (holds == SC_OBJECTS) sc_retain(v.o);
    if (holds == SC_BOOLS) l->bools[l->len++] = v.b;
    else l->items[l->len++] = v;
    l->written = true;
    return 0;
}

/* Set an item. `own`: the list was made by this call, so it is not marked as written. `put`: the index is known to be
 * in bounds. */
static inline void sc_list_put_own(sc_ctx *cx, sc_list *l, int64_t i, int holds, sc_value v) {
    if (holds == SC_BOOLS) {
        l->bools[i] = v.b;
        return;
    }
    sc_value old = l->items[i];
    if (holds == SC_OBJECTS) sc_retain(v.o);
    l->items[i] = v;
    if (holds == SC_OBJECTS) sc_release(cx, old.o);
}

static inline void sc_list_put(sc_ctx *cx, sc_list *l, int64_t i, int holds, sc_value v) {
    sc_list_put_own(cx, l, i, holds, v);
    l->written = true;
}

static inline int sc_list_set_own(sc_ctx *cx, sc_list *l, int64_t i, int holds, sc_value v) {
    uint64_t len = (uint64_t)l->len, at = (uint64_t)i; /* an index from the front costs one comparison */
    if (at >= len && (at += len) >= len) return sc_raise(cx, "IndexError", "list assignment index out of range"), -1;
    sc_list_put_own(cx, l, (int64_t)at, holds, v);
    return 0;
}

static inline int sc_list_set(sc_ctx *cx, sc_list *l, int64_t i, int holds, sc_value v) {
    if (sc_list_set_own(cx, l, i, holds, v) < 0) return -1;
    l->written = true;
    return 0;
}

/* ---- pointwise iteration (sc_iter.c) ----
 * Broadcasts the inputs, allocates the results in the strides that eager's TensorIterator gives, and coalesces
 * dimensions. Generated code then runs:  do { inner loop over n elements } while (sc_iter_next(&it)); */
typedef struct sc_iter {
    int operands, rank;                 /* results first; rank of the outer odometer after coalescing */
    int64_t n;                          /* length of the next inner loop; 0 if there is none */
    bool unit;                          /* every operand has step 1 in the inner loop */
    void *p[SC_MAX_OPERANDS];           /* current row of each operand */
    int64_t step[SC_MAX_OPERANDS];      /* inner step, in elements */
    int64_t size[SC_MAX_RANK], at[SC_MAX_RANK]; /* outer dimensions, fastest first */
    int64_t stride[SC_MAX_RANK][SC_MAX_OPERANDS]; /* outer strides, in bytes */
    struct sc_stage *stage;             /* buffers for rows of other steps, or NULL (sc_iter_staging.c) */
} sc_iter;
/* Begin an iteration that makes n_out tensors of dtypes[] over the broadcast shape of in[]. Raises RuntimeError if
 * shapes do not broadcast. A NULL in in[] stands for a Python number: its p must not be read, but, as in eager, it is
 * one of the operands that decide the results' strides. On failure no result is left. All steps are 1. The iteration
 * must be run to its end. */
SC_KERNEL int sc_iter_begin(sc_ctx *cx, sc_iter *it, int n_out, const int *dtypes, sc_tensor **out, int n_in, sc_tensor *const *in);
/* Begin an iteration as sc_iter_begin does. Bit i of `last` says that the caller releases in[i] next. If its reference count is
 * one, its memory may become that of a result, which is then the same object with a count of two. */
SC_KERNEL int sc_iter_over(sc_ctx *cx, sc_iter *it, int n_out, const int *dtypes, sc_tensor **out, int n_in, sc_tensor *const *in,
                           unsigned last);
/* Return a contiguous tensor of these sizes: x, retained, if its reference count is one, else a new one. x has the sizes,
 * the dtype and default strides, and the caller releases x next. */
static inline sc_tensor *sc_take(sc_ctx *cx, sc_tensor *x, int dtype, int rank, const int64_t *size) {
    const sc_storage *s = x->storage;
    bool ours = x->obj.refs == 1 && s->obj.refs == 1 && !(s->flags & SC_EXTERNAL);
    if (!ours || x->data != s->data || (size_t)x->numel * sc_dtype_size(dtype) != s->nbytes) return sc_empty(cx, dtype, rank, size);
    x->obj.refs++;
    return x;
}
/* Begin an iteration that writes into dst, to whose shape the inputs must broadcast. dst may alias an input element for
 * element; any other overlap raises eager's RuntimeError. Marks dst as written. Steps may be any. */
SC_KERNEL int sc_iter_into(sc_ctx *cx, sc_iter *it, sc_tensor *dst, int n_in, sc_tensor *const *in);

/* Advance to the next row. */
static inline bool sc_iter_step(sc_iter *it) {
    for (int d = 0; d < it->rank; d++) {
        const int64_t *stride = it->stride[d];
        if (++it->at[d] < it->size[d]) {
            for (int o = 0; o < it->operands; o++) it->p[o] = (char *)it->p[o] + stride[o];
            return true;
        }
        it->at[d] = 0;
        for (int o = 0; o < it->operands; o++) it->p[o] = (char *)it->p[o] - stride[o] * (it->size[d] - 1);
    }
    return false;
}
SC_KERNEL bool sc_stage_next(sc_iter *it); /* advances to the next piece of a row, or to the next row */
static inline bool sc_iter_next(sc_iter *it) {
    return it->stage ? sc_stage_next(it) : sc_iter_step(it);
}

#pragma GCC visibility pop

/* ---- a compiled program ---- */
typedef struct sc_entry {
    const char *name;
    int (*call)(sc_ctx *cx, const sc_value *args, sc_value *results); /* results are owned by the caller */
    int n_args, n_results;
} sc_entry;

typedef struct sc_program {
    int abi;                   /* SC_ABI_VERSION */
    const char *name, *level;  /* level: ISA level of its code */
    int n_entries;
    const sc_entry *entries;
    const sc_loc *locs;
    int n_locs;
} sc_program;

#ifdef __cplusplus
}
#endif
#endif

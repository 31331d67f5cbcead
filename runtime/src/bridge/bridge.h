/* bridge.h - inside of the bridge between Python values and compiled entries.
 *
 * One bridge object holds the variants of one function: compiled entries, each with the guards and the argument and
 * result trees that select and serve it. One call borrows a frame (a context with its marshalled values) from the
 * bridge's free list. Everything here runs under the GIL except the compiled entry itself.
 *
 * Matching functions answer 1 (matches), 0 (does not) or -1 (Python exception set). */
#ifndef SC_BRIDGE_H
#define SC_BRIDGE_H
#include "spec_kinds.h"
#include "stable_abi.h"

#include <stdatomic.h>

#include "sc.h"
#include "sc_dlpack.h"
#include "sc_team.h"

/* The structure of an argument or result. Python objects are borrowed from the tuple that the variant was made from. */
typedef struct node {
    uint8_t kind, dtype, rank;
    uint8_t in_line; /* of a dict: the leaves of a value that is a tuple of numbers; else 0 */
    bool contiguous;
    bool shared; /* the children belong to an outer node of the same class */
    int n;
    struct node *child;
    int place;      /* the number of an object among the arguments; -1: none */
    PyObject *data; /* the data of a NodeKind, as lowered by bridge.py */
    PyObject *key_kind; /* bytes: the types of the key's parts, in the letters of sc_dict */
    int64_t size[SC_MAX_RANK]; /* -1: any */
} node;

enum { MAX_LEAVES = 32,   /* leaves of a tuple in a container */
       MAX_CLASSES = 64,  /* classes of instances within one another */
       DEEPEST = 4000,    /* longest chain of references between instances of a result ... */
       BYTES_A_LEVEL = 1024 }; /* ... and the most stack that each takes */

/* Return whether a value of this kind is one value among the arguments or results of an entry. */
static inline bool is_leaf(const node *n)
{
    return n->kind <= N_INSTANCE;
}

/* Return whether a node of the kind N_LIST is a tuple of any length. */
static inline bool is_tuple(const node *n)
{
    return n->kind == N_LIST && n->data == (PyObject *)&PyTuple_Type;
}

/* Return whether a value of this kind is an object of the runtime. */
static inline bool is_object(const node *n)
{
    return n->kind == N_TENSOR || n->kind == N_STR || n->kind == N_LIST || n->kind == N_MAP || n->kind == N_SET ||
           n->kind == N_INSTANCE;
}

/* Return whether an item of this kind is a tuple object: a tuple, None, or a number or tuple that may be None. */
static inline bool is_boxed(const node *n)
{
    return n->kind == N_TUPLE || n->kind == N_NAMED_TUPLE || n->kind == N_CONSTANT || (n->kind == N_OPTIONAL && !is_object(n->child));
}

/* Return whether a value in a container is, or contains, objects of the runtime. */
static inline bool has_objects(const node *n)
{
    bool found = is_object(n);
    for (int i = 0; !found && (is_boxed(n) || n->kind == N_OPTIONAL) && i < n->n; i++)
        found = has_objects(&n->child[i]);
    return found;
}

/* Return the form of the items of a list in the runtime. */
static inline sc_items items_of(const node *list)
{
    const node *n = list->child;
    return is_object(n) || is_boxed(n) || n->kind == N_OPTIONAL ? SC_OBJECTS : n->kind == N_BOOL ? SC_BOOLS : SC_VALUES;
}

typedef struct guard {
    uint8_t kind;
    bool seldom;      /* the container, a class or dict, is expected not to change */
    bool of_type;     /* the container is a class */
    int run;          /* in the first guard of a run: the number of guards in the run; else 0 */
    uint64_t version; /* the version of the container at which the run held last; 0: unknown */
    PyObject *container, *key, *expected;
} guard;

typedef struct param {
    PyObject *name;     /* None: positional only */
    PyObject *fallback; /* default value, NULL when there is none */
    node spec;
} param;

enum live_kind { IN_DICT, IN_LIST, IN_CELL, IN_ATTRIBUTES };

typedef struct live {
    uint8_t kind;
    PyObject *container, *key; /* a dict or list and a key in it, a cell, or an object and the name of an attribute */
    node spec;
} live;

typedef struct store {         /* state of Python's that the entry may assign */
    int place;                 /* the number of the argument that owns it, else -1 */
    PyObject *owner, *key;
    PyObject *path, *direct;   /* path: keys that lead to the container, NULL for an attribute */
    int n_forms;
    node *forms;
} store;

typedef struct variant {
    PyObject *source; /* tuple that owns every Python object below */
    const sc_program *program;
    const sc_entry *entry;
    int n_params, n_positional, n_live, n_guards, n_stores;
    param *params;
    live *lives;
    guard *guards;
    store *stores;
    node result;
    PyObject *bind, *grad_call; /* or NULL */
    int random;                 /* the entry draws random numbers */
    int asks;                   /* the entry asks whether tensors require grad, in any mode */
    int keeps_bases;            /* a store may give a tensor other memory */
    PyObject *cut;              /* bytes: for each leaf of the result, whether it requires no grad; NULL if none is so */
    PyObject *exceptions;       /* dict: exception name -> class */
    double seconds;             /* time of the last run inside the entry; before the first run, longer than any run */
    int n_taken;                /* the tensors that the last run took from Python */
    struct plan *plans;         /* of calls that autograd records; the newest first */
} variant;

/* How calls run in which one set of arguments requires grad. */
typedef struct plan {
    struct plan *next;
    int refs;                               /* the variant's, and those of records */
    PyObject *source;                       /* tuple that owns every Python object below */
    struct bridge *owner;                   /* that calls the plan, not counted: records, which autograd's graph holds where no
                                             * collector sees it, must not hold what refers to the user's function; NULL: freed */
    PyObject *home;                         /* the bridge whose contexts run backward when that is freed */
    PyObject *required;                     /* bytes: for each argument of the entry, whether it requires grad */
    PyObject *requires, *reads, *arrives;   /* bytes: of outputs, whether they require grad; of weights, whether backward
                                             * reads them; of inputs, whether a gradient arrives */
    PyObject *reaches;                      /* bytes: for each output and each input, whether the gradient may reach the input */
    PyObject *apply, *rebuild;
    variant *forward, *backward;
    const node *outputs, *kept;             /* parts of forward's result behind that of the call */
    int first_output, first_kept, first_number; /* among forward's results */
    int n_kept, n_inputs, n_weights, n_flags, n_numbers;
    int *kept_inputs;                       /* of kept values: the argument that a value is, or -1 */
    int *inputs;                            /* the arguments that have gradients */
    int *bits;                              /* of inputs: which bit of the numbers tells that a gradient reaches it; -1: always */
    int *flags;                             /* the outputs for which backward takes whether their gradients are given */
    const char *lists;                      /* of inputs: whether they are lists */
    int reads_leaves;                       /* forward reads which tensors are leaves */
} plan;
enum { MOST_ARGUMENTS = 4096 };             /* of calls with a plan */

/* Counters that a bridge shares with the tensors that it returned. Tensors may outlive the bridge and be freed without
 * the GIL. */
typedef struct counters {
    atomic_long refs, exported;              /* exported: storages that Python holds */
    bool counting;                           /* contexts use the counting allocator, which updates the fields below */
    atomic_long blocks, allocations, fail_at; /* blocks that contexts hold; fail_at counts down, 0 = never */
} counters;

#define WORTH_RELEASING 20e-6 /* seconds; to release and reacquire the GIL costs 0.1 us, and much more when contended */
#define WORTH_SHARING 1e-6    /* seconds for each tensor; a shared reference costs up to 0.3 us more than a lent description */

typedef struct held { /* a tensor taken from Python for the duration of a call */
    PyObject *object;
    sc_dl_managed *managed; /* NULL: the tensor is lent */
    sc_dl_tensor given;
    sc_tensor *tensor;
    int argument;          /* the number of the entry's argument that has it */
    bool requires_grad;    /* found by needs_grad */
} held;

typedef struct seen { /* a marshalled list, dict or set; passed twice, it becomes one object in C */
    PyObject *object;
    sc_value made;
    const node *spec;
} seen;

typedef struct frame {
    struct frame *next;
    struct bridge *owner;
    sc_ctx *cx;
    sc_value *args, *results;
    PyObject **slots;              /* room for the bound arguments */
    PyObject *const *slot;         /* the bound arguments: slots, or the caller's own vector */
    PyObject *flat;                /* tuple that bind() made, or NULL */
    PyObject *naming;              /* name of the argument that is matched now, for messages */
    held *held;
    seen *lists;
    PyObject **made;               /* objects made for results, kept until the context is unwound */
    int *buckets;                  /* hash table over lists: index + 1 */
    PyObject **places;             /* the objects among the arguments that have a place; borrowed from them */
    int n_slots, n_args, n_held, n_taken, n_lists, n_made, n_places, cap_places; /* n_taken: filled rows of `held` */
    int cap_values, cap_slots, cap_held, cap_lists, cap_made, cap_buckets;
    const char *cut;               /* while a result is made: see variant; or NULL */
    bool cuts;                     /* the leaf that is being made requires no grad */
    int depth;                     /* the depth of the instance that is being made for a result */
    int deepest;                   /* the greatest depth that fits the stack of this thread; 0: not measured */
    bool lent;                     /* tensors may be lent: the GIL is kept */
    bool has_aliases;              /* a list was passed twice */
    struct record *record;         /* of the call that runs, or NULL */
    PyThreadState *saved;          /* not NULL while the GIL is released */
    bool in_main;                  /* the call runs in the main thread */
    int *around;                   /* in the main thread: the flag of the enclosing call, or NULL */
    uint64_t fp_mode;              /* the caller's floating point mode */
    PyObject *stopped;             /* exception of a signal handler, which ends the call, ... */
    sc_error stopped_as;           /* ... and the error that it became */
    PyObject *raised;              /* exception of a warning filter or of sys.stdout */
    PyObject *numpy_state;         /* the state of NumPy's generator while it is lent to the call */
} frame;

typedef struct host { /* objects of torch and of bridge.py that the bridge uses; it owns a reference to each */
    PyObject *tensor_type, *parameter_type;
    PyObject *function_modes, *dispatch_modes, *grad_enabled, *num_threads, *default_dtype;
    PyObject *forward_ad, *forward_ad_key, *requires_grad_key, *leaf_kind;
    PyObject *refuse_tensor, *refuse_mode, *view, *new_flat, *describe, *bump, *make_exception, *place_exception, *warn, *print;
    PyObject *saved_hooks, *transforms, *keeps_graph, *refuse_backward, *refuse_version, *version_key;
    PyObject *random_begin, *random_end, *python_word, *numpy_begin, *numpy_end;
    const sc_dl_exchange *api;      /* NULL: go through describe and new_flat */
    Py_ssize_t impl_at, keys_at;    /* offsets of the implementation in a tensor object, and of the dispatch keys in an implementation */
    uint64_t usual_keys;            /* the keys of plain tensors; 0: unknown */
    Py_ssize_t offset_at;           /* offset of the storage offset in an implementation; 0: unknown */
    Py_ssize_t autograd_at;         /* offset of what autograd knows of a tensor, NULL if it does not require grad; 0: unknown */
    Py_ssize_t counter_at, version_at; /* offset of the version counter's address, and of the version in it; 0: unknown */
    PyObject *why_refused;
} host;

typedef struct bridge {
    PyObject_HEAD
    PyObject *on_miss;
    host host;
    variant **variants; /* most recently hit first */
    int n_variants;
    frame *idle;
    counters *counters;
    double seconds;
    size_t peak, asked;         /* of the last call: see sc_ctx */
    sc_team *team;              /* the process's */
    struct sc_profile *profile; /* the counts of calls, or NULL (profile.c) */
} bridge;

/* spec.c */
variant *variant_new(PyObject *source);
void variant_free(variant *v);

/* host.c */
int host_load(host *h, PyObject *namespace);
int host_traverse(host *h, visitproc visit, void *arg);
void host_clear(host *h);
int host_refuses_mode(const host *h); /* -1 if a mode is active that compiled code does not support */
bool host_grad_enabled(const host *h);
bool host_saves_plainly(const host *h); /* no hooks of saved tensors, no torch.func transforms */
bool host_keeps_graph(const host *h);   /* the backward that runs keeps the graph */

/* guards.c */
bool same_value(PyObject *a, PyObject *b); /* the same constant: identical, or equal and of one type; a NaN is a NaN, 0.0 is not -0.0 */
void guards_watch(guard *guards, int n);   /* finds their runs */
bool guards_hold(const host *h, const variant *v);

/* match.c */
int match_call(frame *f, const variant *v, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

/* tensor.c */
int tensor_take(frame *f, PyObject *o, const node *spec, sc_value *out);
void tensor_let_go(held *h);
PyObject *tensor_give(frame *f, sc_tensor *t);
bool tensor_requires_grad(const host *h, PyObject *o);
int64_t tensor_version(const host *h, PyObject *o); /* NO_VERSION for one without */
void tensor_note(sc_tensor *t); /* called for every result before tensor_give is called for the first */
int frame_keep(frame *f, PyObject *o); /* takes the reference */

/* plan.c */
plan *plan_new(PyObject *source);
void plan_release(plan *p);
plan *plan_for(const frame *f, const variant *v); /* NULL: Python runs the call */

/* record.c */
enum { NO_VERSION = -1 };
PyObject *record_call(frame *f, variant *v, plan *p); /* releases the frame */
void record_note(frame *f); /* called when all results are noted, before the first is given */
int record_type_init(void);

/* store.c */
void stores_note(frame *f, const variant *v);
int stores_apply(frame *f, const variant *v);

/* result.c */
void note_tree(frame *f, const node *n, const sc_value **next);
PyObject *give_tree(frame *f, const node *n, const sc_value **next);
int changes_write_back(frame *f, bool with_results, const variant *v);
PyObject *result_build(frame *f, const variant *v);

/* frame.c */
frame *frame_acquire(bridge *b);
void frame_reset(frame *f, bool keep_taken);
void frame_release(frame *f);
void frames_drop(bridge *b);
int frame_fit(frame *f, const variant *v);
int grow(void *array, int *capacity, int wanted, size_t item); /* array: address of a pointer; -1: MemoryError set */
counters *counters_new(void);
void counters_release(counters *c);

/* interrupt.c */
void interrupt_begin(frame *f, double now); /* called before a call; now: in seconds */
void interrupt_end(frame *f);

/* execute.c */
bool is_short(const variant *v); /* the next run will likely be too short to release the GIL and to share tensors */
PyObject *raised_now(void); /* clears the current exception and returns it, a new reference */
uint64_t enter_python(frame *f);
void leave_python(frame *f, uint64_t mode);
PyObject *execute(frame *f, variant *v);

/* openmp.c */
const sc_lender *openmp_lender(void); /* NULL: the process has no OpenMP runtime */
void openmp_start_in(uint64_t mode);  /* before a call: the floating point mode of the running thread */
int openmp_threads(void);             /* of a team that the running thread starts next; 0: the lender was not asked for */
size_t sc_bridge_stack_left(void);    /* (bridge.c) free bytes of the running thread's stack */

/* profile.c: methods of the type */
PyObject *bridge_profile_start(PyObject *self, PyObject *args);
PyObject *bridge_profile_stop(PyObject *self, PyObject *none);
void profile_free(struct sc_profile *p);

#endif

/* sc_package.h - what the generated C API of a package stands on: weights from a file, the choice of the ISA level,
 * and the way of tensors, lists and errors across the C boundary. */
#ifndef SC_PACKAGE_H
#define SC_PACKAGE_H
#include "sc.h"
#include "sc_str.h"
#include "sc_team.h"
#include "scriptc_api.h"

typedef struct sc_weight { /* a contiguous tensor whose value the code was compiled for */
    const char *name;
    uint8_t dtype, rank; /* dtype: sc_dtype */
    int64_t size[SC_MAX_RANK];
} sc_weight;

typedef struct sc_leaf { /* a value that the model keeps from call to call, and its initial value */
    bool is_tensor, is_bool, is_text, is_list;
    sc_value number;         /* or a constant str */
    int weight;              /* the first of the weights that hold it; -1: it is absent */
    int64_t n;               /* length of a list */
    const sc_value *numbers; /* of a list of numbers or strings */
    int target, position;    /* the target and its leaf that assign it; -1: only changed in place */
    bool written;            /* the code may write to its tensors */
    const char *name;        /* in the file of a saved state */
    uint8_t dtype, rank;     /* in that file; rank: of tensors, 255 if it is any */
    int slot, n_kinds;       /* the value that the leaf belongs to, and the number of kinds that the value may have */
    uint8_t given, fixed;    /* a bit for each kind: the leaf then holds a value, and holds the number in `fixed_to` */
    const int64_t *fixed_to; /* for each kind; NULL if no kind fixes a number */
} sc_leaf;

typedef struct sc_uses { /* the leaves that an entry takes, by number */
    const int *leaves;
    int n;
} sc_uses;

typedef struct sc_level { /* the program as compiled for one ISA level */
    const char *name;
    const sc_program *(*program)(void);
} sc_level;

typedef struct sc_package { /* constants of a package */
    const char *name;
    const sc_level *levels; /* from the slowest to the fastest */
    int n_levels;
    const sc_weight *weights;
    int n_weights, n_params; /* n_params: those that the program takes */
    const int *user_rows;    /* for each location of the program, the row of the user's line */
    const sc_leaf *leaves;   /* of the state */
    int n_leaves;
    const sc_uses *uses; /* of each entry, if there is a state */
    uint32_t checksum;    /* CRC-32 of the data of the weights file */
    const void *embedded; /* the weights file as an array aligned to SC_ALIGN, or NULL */
    size_t embedded_bytes;
} sc_package;

typedef struct sc_weights {
    void **data;      /* one per weight */
    uint8_t *copied;  /* which weights are copies, because they are unaligned in the file */
    int n;
    void *map;
    size_t map_bytes;
} sc_weights;

typedef struct sc_model { /* immutable once loaded, but for the team: threads share it */
    const sc_package *package;
    const sc_program *program;
    sc_weights weights;
    sc_team *team; /* for contexts that are set to more than one thread */
} sc_model;

typedef struct sc_state sc_state;

enum { SC_CANCELLED = 1, SC_ASKED_TO_CHECK = 2 }; /* why cx->stop is set */

typedef struct sc_caller { /* a context of one thread, and its last error for the C API */
    const sc_model *model;
    sc_ctx *cx;
    scriptc_error error;
    scriptc_output output;
    const char *(*check)(void *user); /* decides whether a call goes on, or NULL */
    void *check_user;
    bool read_only; /* argument tensors may not be written */
    size_t prepared; /* bytes of weights that were prepared since pages of the weights file were released */
    sc_state *state; /* of the running call, or NULL */
    sc_rng rng, python_rng, numpy_rng; /* generators of random numbers: torch's, that of Python's `random`, and NumPy's */
    char traceback[4096];
} sc_caller;

typedef struct sc_param { /* an argument tensor, or the tensors of an argument list, as compiled for */
    const char *name;
    uint8_t dtype, rank;
    int64_t size[SC_MAX_RANK]; /* -1: any */
} sc_param;

/* the items of lists of lists */
typedef enum sc_rows { SC_ROWS_TENSORS, SC_ROWS_I64S, SC_ROWS_F64S, SC_ROWS_BOOLS, SC_ROWS_STRS } sc_rows;

enum { SC_RELEASED_BYTES = 1 << 22 }; /* bytes of a weights file that are read before their pages are released */

typedef struct sc_text { /* a buffer for a message, always terminated */
    char *at;
    size_t n;
} sc_text;

#pragma GCC visibility push(hidden)

/* ---- weights (sc_weights.c) ---- */
int sc_weights_open(sc_weights *w, const sc_package *package, const char *path, sc_text error); /* maps the file; -1 */
int sc_weights_read(sc_weights *w, const sc_package *package, const void *file, size_t bytes, sc_text error);
void sc_weights_close(sc_weights *w);
/* Return the pages of a mapped file to the system. They are read again where they are needed. */
void sc_weights_release(const sc_weights *w);
uint32_t sc_crc32(uint32_t crc, const void *data, size_t bytes); /* crc: of the bytes before; 0: there are none */
int sc_tell(sc_text error, const char *format, ...) __attribute__((format(printf, 2, 3))); /* -1 */

/* ---- models and calls (sc_model.c) ---- */
bool sc_machine_has(const char *level);
/* Load a model at the fastest level that the machine supports, or at the level that SC_FORCE_LEVEL names. Return NULL
 * after writing a message to `error`. */
sc_model *sc_model_load(const sc_package *package, const char *path, char *error, size_t error_size);
void sc_model_free(sc_model *model);
sc_caller *sc_caller_new(const sc_model *model); /* NULL: out of memory */
void sc_caller_free(sc_caller *caller);

void sc_caller_seed(sc_caller *caller, uint64_t seed); /* as torch.manual_seed and random.seed do */
void sc_call_cancel(sc_caller *caller);        /* for these two: from any thread or signal handler */
void sc_call_request_check(sc_caller *caller);
void sc_call_begin(sc_caller *caller);
/* Run an entry. After its first n values, args has room for the leaves that the entry takes and all weights. */
int sc_call_run(sc_caller *caller, int entry, int n, sc_state *state, sc_value *args, sc_value *results);
/* End a call with SCRIPTC_OK or another code: record the error and free the objects of the call. */
int sc_call_end(sc_caller *caller, int code);

/* ---- state (sc_state.c); -1 where memory ends ---- */
sc_state *sc_state_new(const sc_model *model); /* with the first values; NULL: out of memory */
void sc_state_free(sc_state *state);
int sc_state_reset(sc_state *state);                        /* to the first values */
int sc_state_copy(sc_state *to, const sc_state *from);      /* both of one model */
/* Write the leaves that an entry takes to args, for a call. */
int sc_state_take(const sc_state *state, const sc_uses *uses, sc_ctx *cx, sc_value *args);
/* Save these leaves after the call. */
int sc_state_keep(sc_state *state, const sc_uses *uses, sc_ctx *cx, const sc_value *args);
void sc_state_settle(sc_state *state); /* the call is over */

/* ---- saved states (sc_state_file.c); -1 after sc_tell ---- */
int sc_state_save(const sc_state *state, const char *path, sc_text error);
int sc_state_load(sc_state *state, const char *path, sc_text error); /* leaves the state unchanged on failure */

/* ---- values across the boundary (sc_boundary.c); 0, or -1 after sc_raise ---- */
int sc_take_tensor(sc_caller *caller, const sc_param *param, const DLTensor *from, sc_value *out);
int sc_take_tensors(sc_caller *caller, const sc_param *param, const DLTensor *const *from, int64_t n, sc_value *out);
int sc_take_i64s(sc_caller *caller, const char *name, const int64_t *from, int64_t n, sc_value *out);
int sc_take_f64s(sc_caller *caller, const char *name, const double *from, int64_t n, sc_value *out);
int sc_take_bools(sc_caller *caller, const char *name, const bool *from, int64_t n, sc_value *out);
int sc_take_str(sc_caller *caller, const char *name, scriptc_string from, sc_value *out);
int sc_take_strs(sc_caller *caller, const char *name, const scriptc_string *from, int64_t n, sc_value *out);
int sc_give_tensor(sc_caller *caller, sc_value from, DLManagedTensorVersioned **out);
int sc_give_tensors(sc_caller *caller, sc_value from, DLManagedTensorVersioned ***out, int64_t *n);
int sc_give_i64s(sc_caller *caller, sc_value from, int64_t **out, int64_t *n);
int sc_give_f64s(sc_caller *caller, sc_value from, double **out, int64_t *n);
int sc_give_bools(sc_caller *caller, sc_value from, bool **out, int64_t *n);
int sc_give_str(sc_caller *caller, sc_value from, scriptc_string *out);
int sc_give_strs(sc_caller *caller, sc_value from, scriptc_string **out, int64_t *n); /* one block */
/* Lists of lists (sc_rows.c): the items of all rows, one after the other, and the lengths of the rows. Of p, the name alone
 * is read for others than tensors. The items are arrays as above. */
int sc_take_rows(sc_caller *caller, sc_rows of, const sc_param *p, const void *items, const int64_t *lengths, int64_t n,
                 sc_value *out);
int sc_give_rows(sc_caller *caller, sc_rows of, sc_value from, void *items, int64_t **lengths, int64_t *n);
void sc_drop_rows(DLManagedTensorVersioned ***tensors, int64_t **lengths, int64_t *n); /* and sets them to NULL and 0 */
void sc_drop_tensor(DLManagedTensorVersioned **tensor);                 /* and sets it to NULL */
void sc_drop_tensors(DLManagedTensorVersioned ***tensors, int64_t *n);  /* and sets them to NULL and 0 */

#pragma GCC visibility pop
#endif

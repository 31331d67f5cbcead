/* sc_kernels.h - the kernels that generated code calls, by the file that defines them. A kernel that returns an
 * object returns a reference that the caller owns, or NULL after sc_raise(); one that returns an int returns 0, or
 * -1 after sc_raise(), unless it says otherwise. Messages and types of exceptions are eager's.
 * Written from runtime/kernels by `python -m scriptc.runtime.kernels`. */
#ifndef SC_KERNELS_H
#define SC_KERNELS_H
#include "sc.h"

typedef struct sc_packed sc_packed; /* sc_ops.h */

/* ---- sc_layout.c ---- */
/* Raise for in-place ops whose dst overlaps with src in part or, if the two must be apart, in whole. Tensors with gaps pass. */
SC_KERNEL int sc_check_overlap(sc_ctx *cx, const sc_tensor *dst, const sc_tensor *src, bool apart);
/* Check the overlap with several sources; also raise if elements of dst share memory. */
SC_KERNEL int sc_check_writable(sc_ctx *cx, const sc_tensor *dst, const sc_tensor *const *src, int n);

/* ---- sc_check.c: raise the errors of the op of the same name ---- */
SC_KERNEL int sc_check_broadcast(sc_ctx *cx, const sc_tensor *a, const sc_tensor *b);
SC_KERNEL int sc_check_broadcast_to(sc_ctx *cx, const sc_tensor *src, const sc_tensor *dst); /* for in-place ops */
/* for in-place ops: raises if dst is a leaf that requires grad */
SC_KERNEL int sc_check_leaf(sc_ctx *cx, const sc_tensor *dst, bool view);
SC_KERNEL int sc_check_detached(sc_ctx *cx, const sc_tensor *t, const char *message); /* raises if t requires grad */
SC_KERNEL bool sc_any_requires_grad(const sc_obj *o); /* a tensor in a container requires grad; raises nothing */
/* raises if the two are one Python object */
SC_KERNEL int sc_check_other(sc_ctx *cx, const sc_tensor *t, const sc_tensor *other);
/* raises if the Python object of t is among the tensors of a list */
SC_KERNEL int sc_check_absent(sc_ctx *cx, const sc_tensor *t, const sc_list *items);
SC_KERNEL int sc_check_matmul(sc_ctx *cx, const sc_tensor *a, const sc_tensor *b);
SC_KERNEL int sc_check_linear(sc_ctx *cx, const sc_tensor *x, const sc_tensor *w, const sc_tensor *bias); /* bias may be NULL */
SC_KERNEL int sc_check_select(sc_ctx *cx, const sc_tensor *x, int64_t dim, int64_t index); /* IndexError */
SC_KERNEL int sc_check_view(sc_ctx *cx, const sc_tensor *x, const int64_t *size, int rank); /* x.view(size) */
SC_KERNEL int sc_check_reshape(sc_ctx *cx, const sc_tensor *x, const int64_t *size, int rank); /* x.reshape(size) */
/* Check x for int(x) and float(x), before sc_item_*. Raises ValueError, not RuntimeError as x.item(). */
SC_KERNEL int sc_check_one_element(sc_ctx *cx, const sc_tensor *x);
SC_KERNEL int sc_check_expand(sc_ctx *cx, const sc_tensor *x, const int64_t *size, int rank);

/* ---- sc_copy.c: creation, copies, and one element as a Python number: RuntimeError unless numel is 1 ---- */
/* The value is f for floating dtypes, else i. If the number is a float, f is set for all dtypes. */
SC_KERNEL sc_tensor *sc_full(sc_ctx *cx, int dtype, const int64_t *size, int rank, double f, int64_t i);
SC_KERNEL sc_tensor *sc_empty_like(sc_ctx *cx, const sc_tensor *x, int dtype); /* preserve_format strides */
SC_KERNEL sc_tensor *sc_arange(sc_ctx *cx, int dtype, double start, double stop, double step);
SC_KERNEL sc_tensor *sc_arange_int(sc_ctx *cx, int dtype, int64_t start, int64_t stop, int64_t step);
SC_KERNEL sc_tensor *sc_clone(sc_ctx *cx, const sc_tensor *x); /* preserve_format */
SC_KERNEL sc_tensor *sc_contiguous(sc_ctx *cx, sc_tensor *x); /* x itself, retained, if x is contiguous */
SC_KERNEL sc_tensor *sc_plain(sc_ctx *cx, sc_tensor *x); /* x itself, retained, if x has the strides of a new tensor */
/* x itself, retained, if x is contiguous and has these sizes, to which x broadcasts */
SC_KERNEL sc_tensor *sc_fit(sc_ctx *cx, sc_tensor *x, const int64_t *size, int rank);
SC_KERNEL sc_tensor *sc_to_dtype(sc_ctx *cx, sc_tensor *x, int dtype); /* x itself, retained, if x has the dtype */
/* dst.copy_(src): broadcasts, casts, marks written */
SC_KERNEL int sc_copy_into(sc_ctx *cx, sc_tensor *dst, const sc_tensor *src);
SC_KERNEL sc_tensor *sc_repeat(sc_ctx *cx, const sc_tensor *x, const int64_t *repeats, int rank);
SC_KERNEL sc_tensor *sc_flip(sc_ctx *cx, const sc_tensor *x, const int64_t *dims, int n);
/* the elements of a tensor of one dim: doubles, or i64 if it holds ints */
SC_KERNEL sc_list *sc_list_of_tensor(sc_ctx *cx, sc_tensor *x);
SC_KERNEL int sc_item_f64(sc_ctx *cx, const sc_tensor *x, double *out);
/* int(t): truncates; NaN/inf raise as Python's int() */
SC_KERNEL int sc_item_i64(sc_ctx *cx, const sc_tensor *x, int64_t *out);
SC_KERNEL int sc_item_bool(sc_ctx *cx, const sc_tensor *x, bool *out); /* bool(t), with its messages */

/* ---- sc_view.c: views, which share x's storage; dims may be negative ---- */
SC_KERNEL sc_tensor *sc_alias(sc_ctx *cx, const sc_tensor *x);
/* the memory of x as the Python object of an argument */
SC_KERNEL sc_tensor *sc_changed_argument(sc_ctx *cx, const sc_tensor *x, const sc_tensor *argument);
SC_KERNEL sc_tensor *sc_select(sc_ctx *cx, const sc_tensor *x, int64_t dim, int64_t index);
/* Python's clamping; step >= 1 */
SC_KERNEL sc_tensor *sc_slice(sc_ctx *cx, const sc_tensor *x, int64_t dim, int64_t start, int64_t stop, int64_t step);
SC_KERNEL sc_tensor *sc_narrow(sc_ctx *cx, const sc_tensor *x, int64_t dim, int64_t start, int64_t length);
SC_KERNEL sc_tensor *sc_transpose(sc_ctx *cx, const sc_tensor *x, int64_t d0, int64_t d1);
SC_KERNEL sc_tensor *sc_permute(sc_ctx *cx, const sc_tensor *x, const int64_t *dims, int rank);
SC_KERNEL sc_tensor *sc_unsqueeze(sc_ctx *cx, const sc_tensor *x, int64_t dim);
SC_KERNEL sc_tensor *sc_squeeze(sc_ctx *cx, const sc_tensor *x, int64_t dim); /* drops dim, whose size is 1 by its type */
SC_KERNEL sc_tensor *sc_view(sc_ctx *cx, const sc_tensor *x, const int64_t *size, int rank); /* one -1 allowed */
SC_KERNEL sc_tensor *sc_reshape(sc_ctx *cx, const sc_tensor *x, const int64_t *size, int rank); /* copies if needed */
SC_KERNEL sc_tensor *sc_expand(sc_ctx *cx, const sc_tensor *x, const int64_t *size, int rank); /* -1 keeps */
/* In t, which is not x: views for as long as x lives and nobody counts them; what the functions above would raise is
 * excluded. */
SC_KERNEL void sc_select_here(sc_tensor *t, const sc_tensor *x, int64_t dim, int64_t index);
SC_KERNEL void sc_slice_here(sc_tensor *t, const sc_tensor *x, int64_t dim, int64_t start, int64_t stop, int64_t step);
SC_KERNEL void sc_unsqueeze_here(sc_tensor *t, const sc_tensor *x, int64_t dim);
SC_KERNEL void sc_transpose_here(sc_tensor *t, const sc_tensor *x, int64_t d0, int64_t d1); /* dims from the front */
SC_KERNEL sc_list *sc_split(sc_ctx *cx, const sc_tensor *x, int64_t size, int64_t dim); /* a list of views */
SC_KERNEL sc_list *sc_chunk(sc_ctx *cx, const sc_tensor *x, int64_t chunks, int64_t dim);
SC_KERNEL sc_tensor *sc_diagonal(sc_ctx *cx, const sc_tensor *x, int64_t offset, int64_t dim1, int64_t dim2);
SC_KERNEL sc_tensor *sc_unfold(sc_ctx *cx, const sc_tensor *x, int64_t dim, int64_t size, int64_t step);
/* offset counts from the start of x's storage, or is -1 for x's own; RuntimeError where that would leave the storage */
SC_KERNEL sc_tensor *sc_as_strided(sc_ctx *cx, const sc_tensor *x, const int64_t *size, int rank, const int64_t *stride,
                                   int n_stride, int64_t offset);
SC_KERNEL sc_list *sc_unbind(sc_ctx *cx, const sc_tensor *x, int64_t dim);

/* ---- sc_complex.c ---- */
SC_KERNEL sc_tensor *sc_view_as_real(sc_ctx *cx, const sc_tensor *x); /* the parts of complex elements, along a new last dim */
/* the bits of x as another dtype; RuntimeError if they do not fit */
SC_KERNEL sc_tensor *sc_view_dtype(sc_ctx *cx, const sc_tensor *x, int dtype);
/* the inverse; RuntimeError if the parts are not contiguous */
SC_KERNEL sc_tensor *sc_view_as_complex(sc_ctx *cx, const sc_tensor *x);

/* ---- sc_join.c ---- */
SC_KERNEL sc_tensor *sc_cat(sc_ctx *cx, const sc_list *tensors, int64_t dim, int dtype);
/* sc_cat of at most 256 tensors */
SC_KERNEL sc_tensor *sc_cat_items(sc_ctx *cx, sc_tensor *const *tensors, int n, int64_t dim, int dtype);
/* the same along dim 1, a view where the tensors are images whose channels lie side by side */
SC_KERNEL sc_tensor *sc_cat_channels(sc_ctx *cx, sc_tensor *const *tensors, int n, int64_t dim, int dtype);
SC_KERNEL sc_tensor *sc_stack(sc_ctx *cx, const sc_list *tensors, int64_t dim, int dtype);
/* along the first dim, for tensors of one dtype whose other sizes are equal */
SC_KERNEL sc_tensor *sc_concat(sc_ctx *cx, sc_tensor *const *tensors, int n);

/* ---- sc_pad.c ---- */
/* pad: n numbers, before and after the last dim, then before and after the dim before it, and so on */
SC_KERNEL sc_tensor *sc_pad(sc_ctx *cx, const sc_tensor *x, const int64_t *pad, int n, int64_t mode);

/* ---- sc_stacked.c ---- */
SC_KERNEL sc_list *sc_stacked_new(sc_ctx *cx); /* collects the tensors that a loop appends `total` times */
SC_KERNEL int sc_stacked_put(sc_ctx *cx, sc_list *s, sc_tensor *x, int64_t total, int64_t dim, bool stack);
/* an uninitialized tensor that is put next into a stack along dim 0: in its place there, if that exists */
SC_KERNEL sc_tensor *sc_stacked_place(sc_ctx *cx, const sc_list *s, int64_t total, int dtype, const int64_t *size, int rank);
SC_KERNEL sc_tensor *sc_stacked_join(sc_ctx *cx, sc_list *s, int64_t dim, bool stack, int dtype);

/* ---- sc_reduce.c: reductions: dims[] of x, n == 0 means all; sums are pairwise or blocked ---- */
SC_KERNEL sc_tensor *sc_reduce(sc_ctx *cx, const sc_tensor *x, int op, const int64_t *dims, int n, bool keepdim, int dtype);
/* i64; of equals, the first */
SC_KERNEL sc_tensor *sc_arg_reduce(sc_ctx *cx, const sc_tensor *x, int op, int64_t dim, bool keepdim);
SC_KERNEL sc_tensor *sc_arg_reduce_all(sc_ctx *cx, const sc_tensor *x, int op); /* over the flattened tensor */

/* ---- sc_index.c: elements by index ---- */
SC_KERNEL sc_tensor *sc_index_select(sc_ctx *cx, const sc_tensor *x, int64_t dim, const sc_tensor *index); /* IndexError */
SC_KERNEL sc_tensor *sc_gather(sc_ctx *cx, const sc_tensor *x, int64_t dim, const sc_tensor *index);
/* A copy of x into which src goes; include_self: whether x's own elements take part in the reduction; over: whether the
 * result may take over x, which is dead after the call. */
SC_KERNEL sc_tensor *sc_scatter(sc_ctx *cx, const sc_tensor *x, int64_t dim, const sc_tensor *index, const sc_tensor *src,
                                int64_t op, bool include_self, bool over);
SC_KERNEL sc_tensor *sc_nonzero(sc_ctx *cx, const sc_tensor *x); /* i64 [found, rank] */

/* ---- sc_scan.c: running sums and extremes along one dim ---- */
SC_KERNEL sc_tensor *sc_scan(sc_ctx *cx, const sc_tensor *x, int64_t op, int64_t dim, int dtype);
SC_KERNEL sc_tensor *sc_extreme_scan(sc_ctx *cx, const sc_tensor *x, int64_t dim, bool largest); /* cummax and cummin */
SC_KERNEL sc_tensor *sc_arg_scan(sc_ctx *cx, const sc_tensor *x, int64_t dim, bool largest); /* their positions */

/* ---- sc_sort.c: order along one dim: stable, NaN is the largest ---- */
SC_KERNEL sc_tensor *sc_argsort(sc_ctx *cx, const sc_tensor *x, int64_t dim, bool descending, bool stable);
/* i64: positions of the first k */
SC_KERNEL sc_tensor *sc_topk(sc_ctx *cx, const sc_tensor *x, int64_t k, int64_t dim, bool largest, bool sorted);
/* i64: position of the k-th, counted from 1; size 1 along dim */
SC_KERNEL sc_tensor *sc_kthvalue(sc_ctx *cx, const sc_tensor *x, int64_t k, int64_t dim);

/* ---- sc_norm.c: softmax and normalization ---- */
SC_KERNEL sc_tensor *sc_softmax(sc_ctx *cx, const sc_tensor *x, int64_t dim, int dtype); /* in dtype */
SC_KERNEL sc_tensor *sc_safe_softmax(sc_ctx *cx, const sc_tensor *x, int64_t dim, int dtype); /* zeros for slices of -inf */
SC_KERNEL sc_tensor *sc_log_softmax(sc_ctx *cx, const sc_tensor *x, int64_t dim, int dtype);
/* weight and bias may be NULL */
SC_KERNEL sc_tensor *sc_layer_norm(sc_ctx *cx, const sc_tensor *x, const int64_t *size, int n, const sc_tensor *weight,
                                   const sc_tensor *bias, double eps);
/* the gradient of x; weight may be NULL */
SC_KERNEL sc_tensor *sc_layer_norm_backward_input(sc_ctx *cx, const sc_tensor *grad, const sc_tensor *x, const int64_t *size,
                                                  int n, const sc_tensor *weight, double eps);
/* also that of the weight, in float32 unless x is of float64 */
SC_KERNEL int sc_layer_norm_backward(sc_ctx *cx, const sc_tensor *grad, const sc_tensor *x, const int64_t *size, int n,
                                     const sc_tensor *weight, double eps, sc_tensor **of_input, sc_tensor **of_weight);
SC_KERNEL sc_tensor *sc_group_norm(sc_ctx *cx, const sc_tensor *x, int64_t groups, const sc_tensor *weight,
                                   const sc_tensor *bias, double eps);

/* ---- sc_random.c: random numbers: fill dst ---- */
SC_KERNEL int sc_random_fill(sc_ctx *cx, sc_tensor *dst, int kind, double a, double b);
SC_KERNEL int sc_random_ints(sc_ctx *cx, sc_tensor *dst, int64_t low, int64_t high);
SC_KERNEL int sc_random_bernoulli(sc_ctx *cx, sc_tensor *dst, const sc_tensor *probability);
SC_KERNEL int sc_random_permute(sc_ctx *cx, sc_tensor *dst);
SC_KERNEL int sc_random_slopes(sc_ctx *cx, sc_tensor *dst, const sc_tensor *x, double lower, double upper);
SC_KERNEL int sc_random_state(sc_ctx *cx, sc_tensor *dst);
SC_KERNEL int sc_random_restore(sc_ctx *cx, const sc_tensor *state);
SC_KERNEL int sc_python_random(sc_ctx *cx, double *out); /* random.random() */
SC_KERNEL int sc_python_bits(sc_ctx *cx, int64_t k, int64_t *out); /* random.getrandbits(k): ValueError, OverflowError */
/* np.random.uniform(a, a + b), np.random.normal(a, b) */
SC_KERNEL int sc_numpy_fill(sc_ctx *cx, sc_tensor *dst, double a, double b, bool normals);
SC_KERNEL int sc_numpy_ints(sc_ctx *cx, sc_tensor *dst, int64_t low, int64_t high); /* np.random.randint */
SC_KERNEL int sc_numpy_shuffle(sc_ctx *cx, sc_tensor *dst); /* np.random.permutation(n) */
SC_KERNEL int sc_random_places(sc_ctx *cx, sc_tensor *dst, const sc_tensor *sums);

/* ---- sc_list.c: indices and bounds are Python's; slice and argsort make a new list ---- */
SC_KERNEL int sc_list_room(sc_ctx *cx, sc_list *l, int64_t items);
SC_KERNEL int sc_list_insert(sc_ctx *cx, sc_list *l, int64_t i, sc_value v);
SC_KERNEL int sc_list_delete(sc_ctx *cx, sc_list *l, int64_t i); /* IndexError */
/* Replace n leaves of an object, a tuple object that changes, from `at` on. */
SC_KERNEL void sc_object_set(sc_ctx *cx, sc_list *o, int at, int n, const sc_value *leaves);
SC_KERNEL sc_list *sc_tuple_join(sc_ctx *cx, const sc_list *a, const sc_list *b);
SC_KERNEL sc_list *sc_tuple_append(sc_ctx *cx, const sc_list *a, int holds, sc_value v); /* a new tuple with one more item */
SC_KERNEL sc_list *sc_list_slice(sc_ctx *cx, const sc_list *l, int64_t start, int64_t stop, int64_t step);
SC_KERNEL sc_list *sc_list_repeat(sc_ctx *cx, const sc_list *l, int64_t times);
/* l[start:stop] = other */
SC_KERNEL int sc_list_splice(sc_ctx *cx, sc_list *l, int64_t start, int64_t stop, const sc_list *other);
/* a tensor of i64, f64 or bool by member: i, f or b */
SC_KERNEL sc_tensor *sc_list_tensor(sc_ctx *cx, const sc_list *l, char member);
/* the first places of the order, `most` at most, for lists of numbers or strings; member: i, f, b or s */
SC_KERNEL sc_list *sc_list_argsort(sc_ctx *cx, const sc_list *l, char member, bool reverse, int64_t most);

/* ---- sc_dict.c: dicts and sets. A key is an array of its leaves: one, or those of a tuple in line. The number of an item
 * is valid until the next sc_dict_walk. ---- */
/* width: the leaves of a value, more than one for tuples of numbers; counted: values are objects */
SC_KERNEL sc_dict *sc_dict_new(sc_ctx *cx, const char *kind, int width, bool counted);
SC_KERNEL sc_dict *sc_set_new(sc_ctx *cx, const char *kind);
SC_KERNEL int64_t sc_hash(const char *kind, const sc_value *key); /* Python's; kind: as of sc_dict_new */
SC_KERNEL int64_t sc_dict_find(const sc_dict *d, const sc_value *key); /* its number, -1: none */
SC_KERNEL int sc_dict_set(sc_ctx *cx, sc_dict *d, const sc_value *key, const sc_value *value); /* retains the value */
/* as sc_dict_set of a key that is absent; gives the number of the item */
SC_KERNEL int sc_dict_enter(sc_ctx *cx, sc_dict *d, const sc_value *key, const sc_value *value, int64_t *number);
/* gives the number of the item of a key, which is entered with zeros if it is absent; 1: it was absent */
SC_KERNEL int sc_dict_place(sc_ctx *cx, sc_dict *d, const sc_value *key, int64_t *number);
SC_KERNEL int sc_set_add(sc_ctx *cx, sc_dict *s, const sc_value *key);
SC_KERNEL int sc_dict_join_key(sc_ctx *cx, sc_dict *d, int64_t number); /* makes a key in parts a tuple */
SC_KERNEL void sc_dict_put(sc_ctx *cx, sc_dict *d, int64_t number, const sc_value *value); /* replaces the value of a key */
/* sc_dict_put of a tuple (sc_list_tuple), in place of the old one if nothing else refers to that */
SC_KERNEL int sc_dict_put_tuple(sc_ctx *cx, sc_dict *d, int64_t number, uint64_t mask, int n, const sc_value *leaves);
SC_KERNEL void sc_dict_remove(sc_ctx *cx, sc_dict *d, int64_t number);
SC_KERNEL void sc_dict_clear(sc_ctx *cx, sc_dict *d);
/* From here on the items have the numbers 0 to len - 1, in Python's order; gives d->changes. -1: MemoryError. */
SC_KERNEL int sc_dict_walk(sc_ctx *cx, sc_dict *d, int64_t *changes);
SC_KERNEL int sc_dict_unchanged(sc_ctx *cx, const sc_dict *d, int64_t changes); /* RuntimeError if keys were added or removed */
/* s |= other, a set or dict with keys of the same kind, in Python's order */
SC_KERNEL int sc_set_merge(sc_ctx *cx, sc_dict *s, const sc_dict *other);
SC_KERNEL int sc_set_keep(sc_ctx *cx, sc_dict *s, const sc_dict *other); /* s &= other */
SC_KERNEL int sc_set_drop(sc_ctx *cx, sc_dict *s, const sc_dict *other); /* s -= other */
SC_KERNEL int sc_set_flip(sc_ctx *cx, sc_dict *s, const sc_dict *other); /* s ^= other */
SC_KERNEL sc_dict *sc_set_and(sc_ctx *cx, const sc_dict *a, const sc_dict *b);
SC_KERNEL sc_dict *sc_set_minus(sc_ctx *cx, const sc_dict *a, const sc_dict *b);
/* A table that is laid out as one of CPython's: empty, then slot by slot. NULL: a key was removed from the slot. */
SC_KERNEL int sc_set_layout(sc_ctx *cx, sc_dict *s, uint64_t mask, int64_t fill, uint64_t finger);
SC_KERNEL int sc_set_lay(sc_ctx *cx, sc_dict *s, uint64_t slot, const sc_value *key);
SC_KERNEL int64_t sc_set_next(sc_dict *s); /* the number of the key that pop() removes */

/* ---- sc_str.c: searching in s[start:stop], with bounds as in Python ---- */
SC_KERNEL int sc_str_compare(const sc_str *a, const sc_str *b); /* < 0, 0, > 0 */
SC_KERNEL sc_str *sc_str_wide(sc_ctx *cx, int64_t code);
SC_KERNEL sc_str *sc_str_of(sc_ctx *cx, int width, const void *data, int64_t len); /* a copy */
SC_KERNEL sc_str *sc_str_join_two(sc_ctx *cx, sc_str *a, sc_str *b, bool reuse);
SC_KERNEL sc_str *sc_str_join_code(sc_ctx *cx, sc_str *a, int64_t code, bool reuse);
SC_KERNEL sc_str *sc_str_repeat(sc_ctx *cx, sc_str *s, int64_t times);
SC_KERNEL sc_str *sc_str_part(sc_ctx *cx, sc_str *s, int64_t start, int64_t len); /* a part in bounds */
/* like slices of lists; step != 0 */
SC_KERNEL sc_str *sc_str_slice(sc_ctx *cx, sc_str *s, int64_t start, int64_t stop, int64_t step);
SC_KERNEL sc_str *sc_str_join(sc_ctx *cx, sc_str *separator, const sc_list *parts);
SC_KERNEL sc_str *sc_str_replace(sc_ctx *cx, sc_str *s, const sc_str *old, const sc_str *with, int64_t count);
SC_KERNEL int64_t sc_str_find(const sc_str *s, const sc_str *sub, int64_t start, int64_t stop); /* -1: not found */
SC_KERNEL int64_t sc_str_rfind(const sc_str *s, const sc_str *sub, int64_t start, int64_t stop);
SC_KERNEL int64_t sc_str_count(const sc_str *s, const sc_str *sub, int64_t start, int64_t stop);
SC_KERNEL bool sc_str_startswith(const sc_str *s, const sc_str *prefix, int64_t start, int64_t stop);
SC_KERNEL bool sc_str_endswith(const sc_str *s, const sc_str *suffix, int64_t start, int64_t stop);
SC_KERNEL bool sc_str_holds(const sc_str *s, int64_t code);

/* ---- sc_unicode.c ---- */
SC_KERNEL bool sc_unicode_has(int64_t code, int any_of);
SC_KERNEL int sc_unicode_map(uint32_t code, int to, uint32_t *out); /* the number of codes in out[3] */
SC_KERNEL int sc_unicode_decimal(uint32_t code); /* 0 to 9; -1: not a decimal digit */

/* ---- sc_str_case.c: tests and cases of whole strings ---- */
SC_KERNEL bool sc_str_all(const sc_str *s, int any_of, bool of_empty);
SC_KERNEL bool sc_str_islower(const sc_str *s);
SC_KERNEL bool sc_str_isupper(const sc_str *s);
SC_KERNEL bool sc_str_istitle(const sc_str *s);
SC_KERNEL bool sc_str_isidentifier(const sc_str *s);
SC_KERNEL bool sc_str_isascii(const sc_str *s);
SC_KERNEL sc_str *sc_str_upper(sc_ctx *cx, sc_str *s);
SC_KERNEL sc_str *sc_str_lower(sc_ctx *cx, sc_str *s);
SC_KERNEL sc_str *sc_str_title(sc_ctx *cx, sc_str *s);
SC_KERNEL sc_str *sc_str_capitalize(sc_ctx *cx, sc_str *s);
SC_KERNEL sc_str *sc_str_swapcase(sc_ctx *cx, sc_str *s);
SC_KERNEL sc_str *sc_str_casefold(sc_ctx *cx, sc_str *s);
SC_KERNEL sc_str *sc_code_mapped(sc_ctx *cx, int64_t code, int to);

/* ---- sc_format.c ---- */
SC_KERNEL sc_str *sc_int_format(sc_ctx *cx, int64_t value, const sc_str *spec); /* format(value, spec): ValueError. */
SC_KERNEL sc_str *sc_float_format(sc_ctx *cx, double value, const sc_str *spec);
SC_KERNEL sc_str *sc_str_format(sc_ctx *cx, sc_str *value, const sc_str *spec);

/* ---- sc_text.c: texts with values: formats as ir/text_formats.py describes them; numbers and texts ---- */
SC_KERNEL void sc_raise_text(sc_ctx *cx, const char *type, const char *format, ...);
SC_KERNEL void sc_print_text(sc_ctx *cx, const char *format, ...);
SC_KERNEL void sc_warn_text(sc_ctx *cx, int loc, const char *category, const char *format, ...);
SC_KERNEL sc_str *sc_str_text(sc_ctx *cx, const char *format, ...); /* a format as ir/text_formats.py describes it */
SC_KERNEL sc_str *sc_str_repr(sc_ctx *cx, const sc_str *s);
SC_KERNEL sc_str *sc_str_escaped(sc_ctx *cx, const sc_str *s); /* beyond ASCII as \x, \u and \U */
SC_KERNEL sc_str *sc_float_hex(sc_ctx *cx, double x); /* x.hex() */
/* int(s, base): ValueError, OverflowError */
SC_KERNEL int sc_int_parse(sc_ctx *cx, const sc_str *s, int64_t base, int64_t *out);
SC_KERNEL int sc_float_parse(sc_ctx *cx, const sc_str *s, double *out); /* float(s): ValueError */

/* ---- sc_tensor_text.c ---- */
/* str(x) as torch prints it under these options. scientific: -1 if the numbers decide. */
SC_KERNEL sc_str *sc_tensor_text(sc_ctx *cx, const sc_tensor *x, int64_t precision, int64_t threshold, int64_t edgeitems,
                                 int64_t linewidth, int default_dtype, int scientific);

/* ---- sc_special.c ---- */
SC_KERNEL double sc_lgamma(double x);
SC_KERNEL double sc_digamma(double x);
SC_KERNEL double sc_zeta(double s, double q); /* Hurwitz */
SC_KERNEL double sc_igamma(double a, double x); /* regularized, lower */
SC_KERNEL double sc_igammac(double a, double x); /* regularized, upper */
SC_KERNEL double sc_erfinv(double y);
SC_KERNEL double sc_erfcx(double x);
SC_KERNEL double sc_ndtr(double x);
SC_KERNEL double sc_ndtri(double p);
SC_KERNEL double sc_log_ndtr(double x);
SC_KERNEL double sc_bessel_j0(double x);
SC_KERNEL double sc_bessel_j1(double x);
SC_KERNEL double sc_bessel_y0(double x);
SC_KERNEL double sc_bessel_y1(double x);
/* Modified Bessel functions. Scaled ones have the factor exp(-|x|), or exp(x) for the second kind. */
SC_KERNEL double sc_bessel_i0e(double x);
SC_KERNEL double sc_bessel_i1e(double x);
SC_KERNEL double sc_bessel_i0(double x);
SC_KERNEL double sc_bessel_i1(double x);
SC_KERNEL double sc_bessel_k0e(double x);
SC_KERNEL double sc_bessel_k1e(double x);
SC_KERNEL double sc_bessel_k0(double x);
SC_KERNEL double sc_bessel_k1(double x);
SC_KERNEL double sc_airy_ai(double x);
/* Orthogonal polynomials of degree n, truncated to an integer; 0 for a negative degree. */
SC_KERNEL double sc_chebyshev_t(double x, double n);
SC_KERNEL double sc_chebyshev_u(double x, double n);
SC_KERNEL double sc_chebyshev_v(double x, double n);
SC_KERNEL double sc_chebyshev_w(double x, double n);
SC_KERNEL double sc_hermite_h(double x, double n);
SC_KERNEL double sc_hermite_he(double x, double n);
SC_KERNEL double sc_laguerre_l(double x, double n);
SC_KERNEL double sc_legendre_p(double x, double n);

/* ---- sc_peaks.c ---- */
/* Measure the peak of the context's threads: float operations and bytes a second. -1: out of memory. */
SC_KERNEL int sc_measure_peaks(sc_ctx *cx, double *flops, double *bytes);

/* ---- sc_gemm.c: contractions ---- */
SC_KERNEL sc_tensor *sc_matmul(sc_ctx *cx, const sc_tensor *a, const sc_tensor *b); /* torch.matmul at any ranks */
/* bias may be NULL */
SC_KERNEL sc_tensor *sc_linear(sc_ctx *cx, const sc_tensor *x, const sc_tensor *w, const sc_tensor *bias);
/* weights [N, K], as if their rows were those of one, in the panel layout of this ISA level, with their values at the time
 * of the call */
SC_KERNEL sc_packed *sc_pack_linear(sc_ctx *cx, sc_tensor *const *w, int n);
/* Once per context: w must not change. The panels hold elements of dtype `store`, that of w or a half type. */
SC_KERNEL sc_packed *sc_pack_linear_kept(sc_ctx *cx, sc_tensor *const *w, int n, int slot, int store);
/* as sc_ctx_keep; a weight that is not packed yet is, since it may not outlive the call */
SC_KERNEL int sc_keep_packed(sc_ctx *cx, int slot, sc_packed *p);
SC_KERNEL sc_tensor *sc_linear_packed(sc_ctx *cx, const sc_tensor *x, const sc_packed *w, const sc_tensor *bias);
SC_KERNEL int sc_check_linear_packed(sc_ctx *cx, const sc_tensor *x, const sc_packed *w, const sc_tensor *bias);
/* activation(linear(x, w, bias)) of float32 */
SC_KERNEL sc_tensor *sc_linear_activated(sc_ctx *cx, const sc_tensor *x, const sc_packed *w, const sc_tensor *bias,
                                         sc_activation *activation);
/* addend + linear(x, w, bias), or, addend not being first, linear(x, w, bias) + addend: raises what the sum would raise */
SC_KERNEL sc_tensor *sc_linear_add(sc_ctx *cx, const sc_tensor *x, const sc_packed *w, const sc_tensor *bias,
                                   const sc_tensor *addend, bool first);

/* ---- sc_outer_sum.c: gradients of weights ---- */
SC_KERNEL sc_list *sc_outer_sum_new(sc_ctx *cx, int matrices); /* collects the sum over a loop of left^T right */
/* The first matrix is the left one, the others are right ones, all with as many rows. */
SC_KERNEL int sc_outer_sum_add(sc_ctx *cx, sc_list *s, sc_tensor *const *x, int n);
/* the sum for the right matrix of this number, or, for -1, the sum of left's rows */
SC_KERNEL sc_tensor *sc_outer_sum_part(sc_ctx *cx, sc_list *s, int part);

/* ---- sc_linear_rows.c: linear of x[index] in a loop over indices. It may compute rows ahead, and keeps them. x, the items
 * of xs, w and bias must not change while one `rows` is used. The index is in bounds and goes by step, 1 or -1, to stop.
 * sure: unless an error ends the loop, it gets to stop. Raises linear's errors. ---- */
SC_KERNEL sc_list *sc_rows_new(sc_ctx *cx);
/* Compute the row that sc_rows_at does not find. */
SC_KERNEL sc_tensor *sc_linear_rows_anew(sc_ctx *cx, sc_list *rows, const sc_tensor *x, int64_t index, int64_t stop,
                                         const sc_packed *w, const sc_tensor *bias, int64_t dim, int64_t step, bool sure);
SC_KERNEL sc_tensor *sc_linear_items_anew(sc_ctx *cx, sc_list *rows, const sc_list *xs, int64_t index, int64_t stop,
                                          const sc_packed *w, const sc_tensor *bias, int64_t step, bool sure);

/* ---- sc_linalg.c: factorizations and solvers, for float and double, over the last two dims; batch dims broadcast. The
 * results' matrices are stored by columns. info: i32, 0 on success ---- */
/* Pivots are LAPACK's, i32 from 1; info: the first of them that is zero, from 1. */
SC_KERNEL int sc_linalg_lu(sc_ctx *cx, const sc_tensor *x, sc_tensor **lu, sc_tensor **pivots, sc_tensor **info);
/* adjoint: solve for the transposed matrix */
SC_KERNEL sc_tensor *sc_linalg_lu_solve(sc_ctx *cx, const sc_tensor *lu, const sc_tensor *pivots, const sc_tensor *b,
                                        bool adjoint);
/* solve a x = b */
SC_KERNEL sc_tensor *sc_linalg_triangle(sc_ctx *cx, const sc_tensor *a, const sc_tensor *b, bool upper, bool unit);
/* Reads the lower triangle. info: the order of the first leading minor that is not positive. */
SC_KERNEL int sc_linalg_cholesky(sc_ctx *cx, const sc_tensor *x, sc_tensor **l, sc_tensor **info);
SC_KERNEL int sc_linalg_geqrf(sc_ctx *cx, const sc_tensor *x, sc_tensor **a, sc_tensor **tau);
SC_KERNEL sc_tensor *sc_linalg_q(sc_ctx *cx, const sc_tensor *v, const sc_tensor *tau); /* householder_product */
/* Eigenvalues, in ascending order, of the symmetric matrix with the lower triangle of x. v is empty without `vectors`. info:
 * not 0 if the iteration does not converge. */
SC_KERNEL int sc_linalg_eigh(sc_ctx *cx, const sc_tensor *x, bool vectors, sc_tensor **values, sc_tensor **v,
                             sc_tensor **info);
/* Singular values in descending order; u and vh are empty without `vectors`, square with `full`. info: also -4 if x has a
 * NaN. */
SC_KERNEL int sc_linalg_svd(sc_ctx *cx, const sc_tensor *x, bool vectors, bool full, sc_tensor **u, sc_tensor **values,
                            sc_tensor **vh, sc_tensor **info);

/* ---- sc_conv.c: convolutions of images, NCHW or CHW; arrays are (h, w) ---- */
SC_KERNEL sc_tensor *sc_conv2d(sc_ctx *cx, const sc_tensor *x, const sc_tensor *w, const sc_tensor *bias, const int64_t *stride,
                               const int64_t *padding, const int64_t *dilation, int64_t groups);
/* w [channels, filters of a group, kernel]; arranged: the same as one of the functions below has made it, or NULL */
SC_KERNEL sc_tensor *sc_conv_transpose2d(sc_ctx *cx, const sc_tensor *x, const sc_tensor *w, const sc_tensor *bias,
                                         const sc_packed *arranged, const int64_t *stride, const int64_t *padding,
                                         const int64_t *output_padding, int64_t groups, const int64_t *dilation);
SC_KERNEL sc_packed *sc_arrange_transposed(sc_ctx *cx, const sc_tensor *w, const int64_t *stride, const int64_t *padding,
                                           int64_t groups, const int64_t *dilation);
SC_KERNEL sc_packed *sc_arrange_transposed_kept(sc_ctx *cx, const sc_tensor *w, const int64_t *stride, const int64_t *padding,
                                                int64_t groups, const int64_t *dilation, int64_t slot);
/* the gradient of images of this height and width whose convolution has the gradient y */
SC_KERNEL sc_tensor *sc_conv2d_backward_input(sc_ctx *cx, const sc_tensor *y, const sc_tensor *w, int64_t height, int64_t width,
                                              const int64_t *stride, const int64_t *padding, const int64_t *dilation,
                                              int64_t groups);
/* the gradient of a kernel of this height and width; y may have fewer rows and columns than the convolution */
SC_KERNEL sc_tensor *sc_conv2d_backward_weight(sc_ctx *cx, const sc_tensor *x, const sc_tensor *y, int64_t height,
                                               int64_t width, const int64_t *stride, const int64_t *padding,
                                               const int64_t *dilation, int64_t groups);
/* raises what a convolution by a weight of these sizes raises */
SC_KERNEL int sc_check_conv2d(sc_ctx *cx, const sc_tensor *x, const int64_t *weight, const int64_t *stride,
                              const int64_t *padding, const int64_t *dilation, int64_t groups);

/* ---- sc_conv_frozen.c: convolutions of packed weights ---- */
/* whether eager's suggest_memory_format() of one of them is channels last */
SC_KERNEL bool sc_suggests_channels_last(sc_tensor *const *tensors, int count);
/* w: float32, of one group, or [C, 1, h, w] of a depthwise convolution of at least 16 channels; dense: for strides and
 * dilations of 1, for which the weight may be transformed */
SC_KERNEL sc_packed *sc_pack_conv(sc_ctx *cx, sc_tensor *w, sc_tensor *bias, bool depthwise, bool dense);
/* activation(clamp(conv(x) + add, low, high)) of float32 images [N, C, H, W]; weight: the sizes of the packed weight; add
 * may be NULL, and broadcasts; activation may be NULL; add_first: errors are those of add + conv(x), in_place: of conv(x) +=
 * add; placed: the result, if channels last, is a part of an image of `room` channels, of a new one from channel `at` on, or
 * of that of `beside`, from whose first channel `at` counts */
SC_KERNEL sc_tensor *sc_conv2d_packed(sc_ctx *cx, sc_tensor *x, const sc_packed *packed, sc_tensor *add, bool channels_last,
                                      sc_activation *activation, const int64_t *weight, const int64_t *stride,
                                      const int64_t *padding, const int64_t *dilation, int64_t groups, double low, double high,
                                      bool add_first, bool in_place, int64_t room, int64_t at, bool placed,
                                      const sc_tensor *beside);
/* sc_conv2d_packed, by a weight of 1 x 1 without groups and without padding, of clamp(x * scale + shift, least, most), or of
 * x if not applied; scale: [N or 1, C, 1, 1] or [C, 1, 1]; shift: C numbers, or NULL */
SC_KERNEL sc_tensor *sc_conv2d_prologue(sc_ctx *cx, bool applied, sc_tensor *scale, sc_tensor *shift, double least, double most,
                                        sc_tensor *x, const sc_packed *packed, sc_tensor *add, bool channels_last,
                                        sc_activation *activation, const int64_t *weight, const int64_t *stride,
                                        const int64_t *padding, const int64_t *dilation, int64_t groups, double low,
                                        double high, bool add_first, bool in_place, int64_t room, int64_t at, bool placed,
                                        const sc_tensor *beside);
/* copies a channels-last float32 image x to such a part, or returns x where it is none, or not placed */
SC_KERNEL sc_tensor *sc_place(sc_ctx *cx, sc_tensor *x, int64_t room, int64_t at, bool placed, const sc_tensor *beside);

/* ---- sc_signs.c: tensors of -1, 0 and 1 in bits, as ir/ops/signs.py describes them ---- */
/* the signs of float32 rows; how: 0, of x - bound; 1 to 4: -1 where x < bound, x <= bound, not x >= bound, not x > bound */
SC_KERNEL sc_tensor *sc_signs_rows(sc_ctx *cx, sc_tensor *x, int64_t how, double bound);
/* of float32 images [N, C, H, W], for a convolution, whose errors it raises */
SC_KERNEL sc_tensor *sc_signs_image(sc_ctx *cx, sc_tensor *x, const int64_t *weight, const int64_t *stride,
                                    const int64_t *padding, const int64_t *dilation, int64_t how, double bound);
/* whether a pointwise result of x suggests channels last, or a weight does; numbers: of x and numbers */
SC_KERNEL bool sc_signs_order(const sc_tensor *x, bool weight, bool numbers);
SC_KERNEL sc_tensor *sc_signs_filters(sc_ctx *cx, sc_tensor *w); /* of float32 weights [F, K] or [F, C, h, w] */
/* the possible sums of this many signs: -terms to terms */
SC_KERNEL sc_tensor *sc_signs_sums(sc_ctx *cx, const sc_tensor *filters, int64_t terms);
/* the sums whose sign is negative, or 0, of values [sums, filters, ...] */
SC_KERNEL sc_tensor *sc_signs_thresholds(sc_ctx *cx, sc_tensor *x, int64_t how, double bound);
/* raises what a convolution of an image in bits raises */
SC_KERNEL int sc_signs_check(sc_ctx *cx, const sc_tensor *image, const int64_t *weight, const int64_t *stride,
                             const int64_t *padding, const int64_t *dilation);
/* sc_signs_order for what is computed from the result of a convolution, which is channels last if `order` */
SC_KERNEL bool sc_signs_next_order(const sc_tensor *image, bool order, bool weight, bool numbers);

/* ---- sc_signs_product.c: products of such tensors ---- */
/* weight: the sizes of the weight */
SC_KERNEL sc_tensor *sc_signs_linear(sc_ctx *cx, const sc_tensor *x, const sc_tensor *w, const int64_t *weight);
SC_KERNEL sc_tensor *sc_signs_conv2d(sc_ctx *cx, const sc_tensor *x, const sc_tensor *w, bool channels_last,
                                     const int64_t *weight, const int64_t *stride, const int64_t *padding,
                                     const int64_t *dilation);
/* the signs of what is computed from the sums, by the thresholds */
SC_KERNEL sc_tensor *sc_signs_linear_bits(sc_ctx *cx, const sc_tensor *x, const sc_tensor *w, const sc_tensor *thresholds,
                                          const int64_t *weight);
SC_KERNEL sc_tensor *sc_signs_conv2d_bits(sc_ctx *cx, const sc_tensor *x, const sc_tensor *w, const sc_tensor *thresholds,
                                          const int64_t *weight, const int64_t *stride, const int64_t *padding,
                                          const int64_t *dilation);

/* ---- sc_integers.c: pack weights of 16-bit integers, as ir/ops/integers.py describes them ---- */
SC_KERNEL sc_packed *sc_integers_columns(sc_ctx *cx, const sc_tensor *matrix); /* of a matrix i16[K, N] */
SC_KERNEL sc_packed *sc_integers_filters(sc_ctx *cx, const sc_tensor *weight); /* of weights i16[F, C, h, w] */

/* ---- sc_integers_product.c: products of 16-bit integers ---- */
SC_KERNEL sc_tensor *sc_integers_matmul(sc_ctx *cx, sc_tensor *x, const sc_packed *packed, int64_t columns);
/* weight: the sizes of the weight */
SC_KERNEL sc_tensor *sc_integers_conv2d(sc_ctx *cx, sc_tensor *x, const sc_packed *packed, bool channels_last,
                                        const int64_t *weight, const int64_t *stride, const int64_t *padding,
                                        const int64_t *dilation, int64_t groups);

/* ---- sc_linear_argmax.c: positions of the largest elements of products, of which most are only estimated ---- */
SC_KERNEL sc_packed *sc_pack_estimate(sc_ctx *cx, const sc_tensor *w); /* of a weight f32[N, K] */
/* argmax(linear(x, w, bias), -1), for an estimate of the weight; N > 0, K > 0 */
SC_KERNEL sc_tensor *sc_linear_argmax(sc_ctx *cx, const sc_tensor *x, const sc_packed *w, const sc_tensor *bias,
                                      const sc_packed *estimate, bool keepdim);

/* ---- sc_pool.c: pooling of images, NCHW or CHW; arrays are (h, w) ---- */
SC_KERNEL sc_tensor *sc_max_pool2d(sc_ctx *cx, const sc_tensor *x, const int64_t *kernel, const int64_t *stride,
                                   const int64_t *padding, const int64_t *dilation, bool ceil_mode);
/* divisor: 0 if not given */
SC_KERNEL sc_tensor *sc_avg_pool2d(sc_ctx *cx, const sc_tensor *x, const int64_t *kernel, const int64_t *stride,
                                   const int64_t *padding, bool ceil_mode, bool count_include_pad, int64_t divisor);
SC_KERNEL sc_tensor *sc_max_pool2d_backward(sc_ctx *cx, const sc_tensor *grad, const sc_tensor *x, const int64_t *kernel,
                                            const int64_t *stride, const int64_t *padding, const int64_t *dilation,
                                            bool ceil_mode);

/* ---- sc_resample.c ---- */
/* Sum weight[t, i] times the element at index[t, i] over t, along a dim. Raises IndexError. */
SC_KERNEL sc_tensor *sc_resample(sc_ctx *cx, const sc_tensor *x, const sc_tensor *index, const sc_tensor *weight, int64_t dim);

/* ---- sc_boxes.c: boxes in images: (left, top, right, bottom) ---- */
/* i64: the rows of boxes [n, 4] that remain, by falling score */
SC_KERNEL sc_tensor *sc_nms(sc_ctx *cx, const sc_tensor *boxes, const sc_tensor *scores, double threshold);
/* rois: [K, 5], an image and a box each. ratio: samples of a result along a dim; those that fit if <= 0 */
SC_KERNEL sc_tensor *sc_roi_align(sc_ctx *cx, const sc_tensor *x, const sc_tensor *rois, double scale, int64_t height,
                                  int64_t width, int64_t ratio, bool aligned);

#endif

"""Functions that do not depend on the ISA level, and functions that headers define."""

from __future__ import annotations

from .row import Kernel, Source, inline, kernel, source

SOURCES: tuple[Source, ...] = (
    source(
        "sc_core",
        kernel("int", "sc_raise", "sc_ctx *cx, const char *type, const char *format, ...", header="sc.h"),
        kernel("int", "sc_fail_at", "sc_ctx *cx, int loc", header="sc.h"),
        kernel("sc_exc *", "sc_catch", "sc_ctx *cx, int64_t depth", header="sc.h"),
        kernel("int", "sc_reraise", "sc_ctx *cx, const sc_exc *e", header="sc.h"),
        kernel("bool", "sc_exc_is", "const sc_exc *e, const char *types", header="sc.h"),
        kernel("sc_tensor *", "sc_empty", "sc_ctx *cx, int dtype, int rank, const int64_t *size", header="sc.h"),
        kernel("bool", "sc_is_contiguous", "const sc_tensor *t", header="sc.h"),
        kernel("sc_list *", "sc_list_new", "sc_ctx *cx, sc_items holds, int64_t capacity", header="sc.h"),
        needs="sc_tables",
    ),
    source(
        "sc_extern",
        *(
            kernel("int", f"sc_extern_call{kind}",
                   "sc_ctx *cx, sc_extern_function *function, const char *name, const char *kinds, int n, "
                   f"const sc_value *leaves{out}",
                   header="sc_extern.h")
            for kind, out in (("", ""), ("_i64", ", int64_t *out"), ("_f64", ", double *out"))
        ),
        needs="sc_core",
    ),
    source("sc_signal"),
    source(
        "sc_slots",
        kernel("bool", "sc_has_kept", "const sc_ctx *cx, int slot", header="sc.h"),
        kernel("int", "sc_state_set",
               "sc_ctx *cx, int target, int form, int n, const sc_value *leaves, const char *kinds",
               header="sc.h"),
        needs="sc_core",
    ),
    source("sc_stack"),
    source("sc_tables", needs="sc_core"),
    source("sc_team"),
    source("sc_utf8", needs="sc_core"),
)

MATH = "sqrt exp sin cos tan tanh asin acos atan sinh cosh asinh acosh expm1 erf erfc log log2 log10 log1p atanh gamma lgamma"
INLINE: tuple[Kernel, ...] = (
    # sc.h
    inline("int", "sc_check_stop", "sc_ctx *cx", "sc.h", "sc_core"),
    inline("void", "sc_retain", "void *obj", "sc.h"),
    inline("void", "sc_release", "sc_ctx *cx, void *obj", "sc.h", "sc_core"),
    inline("sc_list *", "sc_list_tuple", "sc_ctx *cx, uint64_t mask, int n, const sc_value *items", "sc.h", "sc_core"),
    inline("int", "sc_list_index", "sc_ctx *cx, const sc_list *l, int64_t i, int64_t *at", "sc.h", "sc_core", quiet=True),
    inline("int", "sc_tuple_index", "sc_ctx *cx, const sc_list *t, int64_t i, int64_t *at", "sc.h", "sc_core"),
    inline("int", "sc_list_append", "sc_ctx *cx, sc_list *l, int holds, sc_value v", "sc.h", "sc_core"),
    inline("void", "sc_list_put_own", "sc_ctx *cx, sc_list *l, int64_t i, int holds, sc_value v", "sc.h", "sc_core"),
    inline("void", "sc_list_put", "sc_ctx *cx, sc_list *l, int64_t i, int holds, sc_value v", "sc.h", "sc_core"),
    inline("int", "sc_list_set_own", "sc_ctx *cx, sc_list *l, int64_t i, int holds, sc_value v", "sc.h", "sc_core"),
    inline("int", "sc_list_set", "sc_ctx *cx, sc_list *l, int64_t i, int holds, sc_value v", "sc.h", "sc_core"),
    inline("sc_tensor *", "sc_take", "sc_ctx *cx, sc_tensor *x, int dtype, int rank, const int64_t *size", "sc.h", "sc_core"),
    inline("bool", "sc_iter_next", "sc_iter *it", "sc.h", "sc_iter_staging"),
    # sc_ops.h
    inline("sc_tensor *", "sc_kept_tensor", "const sc_ctx *cx, int slot", "sc_ops.h", "sc_slots"),
    inline("sc_packed *", "sc_kept_packed", "const sc_ctx *cx, int slot", "sc_ops.h", "sc_slots"),
    inline("int", "sc_keep_tensor", "sc_ctx *cx, int slot, sc_tensor *t", "sc_ops.h", "sc_slots"),
    inline("sc_tensor *", "sc_linear_rows",
               "sc_ctx *cx, sc_list *rows, const sc_tensor *x, int64_t index, int64_t stop, const sc_packed *w, "
               "const sc_tensor *bias, int64_t dim, int64_t step, bool sure",
               "sc_ops.h", "sc_linear_rows"),
    inline("sc_tensor *", "sc_linear_items",
               "sc_ctx *cx, sc_list *rows, const sc_list *xs, int64_t index, int64_t stop, const sc_packed *w, "
               "const sc_tensor *bias, int64_t step, bool sure",
               "sc_ops.h", "sc_linear_rows"),
    # sc_dict.h
    inline("void", "sc_dict_put_leaves",
           "sc_dict *d, int64_t number, int stride, int at, int n, const sc_value *leaves", "sc_dict.h"),
    inline("int", "sc_dict_whole_key", "sc_ctx *cx, sc_dict *d, int64_t number, int stride", "sc_dict.h", "sc_dict"),
    *(
        inline("int", f"sc_dict_reach{kind}",
               f"sc_ctx *cx, sc_dict *d, {key}, int stride, int width, const sc_value *value, int64_t *number",
               "sc_dict.h", "sc_dict")
        for kind, key in (
            ("", "const sc_value *key"), ("_int", "int64_t key"), ("_parts", "sc_list *front, int64_t last"))
    ),
    # sc_str.h
    inline("uint32_t", "sc_str_code", "const sc_str *s, int64_t i", "sc_str.h"),
    inline("bool", "sc_str_equal", "const sc_str *a, const sc_str *b", "sc_str.h"),
    inline("sc_str *", "sc_str_chr", "sc_ctx *cx, int64_t code", "sc_str.h", "sc_str"),
    inline("sc_str *", "sc_str_push", "sc_ctx *cx, sc_str *a, int64_t code, bool reuse", "sc_str.h", "sc_str"),
    inline("sc_str *", "sc_str_concat", "sc_ctx *cx, sc_str *a, sc_str *b, bool reuse", "sc_str.h", "sc_str"),
    inline("int", "sc_str_get", "sc_ctx *cx, const sc_str *s, int64_t i, int64_t *out", "sc_str.h", "sc_core"),
    inline("bool", "sc_code_is", "int64_t c, int any_of", "sc_str.h", "sc_unicode"),
    inline("sc_str *", "sc_code_lower", "sc_ctx *cx, int64_t code", "sc_str.h", "sc_str_case sc_str"),
    inline("sc_str *", "sc_code_upper", "sc_ctx *cx, int64_t code", "sc_str.h", "sc_str_case sc_str"),
    # sc_scalar.h
    inline("int", "sc_int_add", "sc_ctx *cx, int64_t a, int64_t b, int64_t *out", "sc_scalar.h", "sc_core"),
    inline("int", "sc_int_sub", "sc_ctx *cx, int64_t a, int64_t b, int64_t *out", "sc_scalar.h", "sc_core"),
    inline("int", "sc_int_mul", "sc_ctx *cx, int64_t a, int64_t b, int64_t *out", "sc_scalar.h", "sc_core"),
    inline("int", "sc_int_neg", "sc_ctx *cx, int64_t a, int64_t *out", "sc_scalar.h", "sc_core"),
    inline("int", "sc_int_abs", "sc_ctx *cx, int64_t a, int64_t *out", "sc_scalar.h", "sc_core"),
    inline("int", "sc_int_floordiv", "sc_ctx *cx, int64_t a, int64_t b, int64_t *out", "sc_scalar.h", "sc_core"),
    inline("int", "sc_int_mod", "sc_ctx *cx, int64_t a, int64_t b, int64_t *out", "sc_scalar.h", "sc_core"),
    inline("int", "sc_int_lshift", "sc_ctx *cx, int64_t a, int64_t n, int64_t *out", "sc_scalar.h", "sc_core"),
    inline("int", "sc_int_rshift", "sc_ctx *cx, int64_t a, int64_t n, int64_t *out", "sc_scalar.h", "sc_core"),
    inline("int", "sc_int_pow", "sc_ctx *cx, int64_t a, int64_t n, int64_t *out", "sc_scalar.h", "sc_core"),
    inline("int", "sc_float_truediv", "sc_ctx *cx, double a, double b, double *out", "sc_scalar.h", "sc_core"),
    inline("int", "sc_int_truediv", "sc_ctx *cx, int64_t a, int64_t b, double *out", "sc_scalar.h", "sc_core"),
    inline("int", "sc_float_mod", "sc_ctx *cx, double a, double b, double *out", "sc_scalar.h", "sc_core"),
    inline("int", "sc_float_floordiv", "sc_ctx *cx, double a, double b, double *out", "sc_scalar.h", "sc_core"),
    inline("int", "sc_float_pow", "sc_ctx *cx, double a, double b, double *out", "sc_scalar.h", "sc_core"),
    inline("int", "sc_float_to_int", "sc_ctx *cx, double a, int64_t *out", "sc_scalar.h", "sc_core"),
    inline("int", "sc_math_floor", "sc_ctx *cx, double a, int64_t *out", "sc_scalar.h", "sc_core"),
    inline("int", "sc_math_ceil", "sc_ctx *cx, double a, int64_t *out", "sc_scalar.h", "sc_core"),
    *(inline("int", f"sc_math_{name}", "sc_ctx *cx, double a, double *out", "sc_scalar.h", "sc_core") for name in MATH.split()),
    inline("int", "sc_math_trunc", "sc_ctx *cx, double a, int64_t *out", "sc_scalar.h", "sc_core"),
    inline("int", "sc_math_fmod", "sc_ctx *cx, double a, double b, double *out", "sc_scalar.h", "sc_core"),
    inline("int", "sc_math_remainder", "sc_ctx *cx, double a, double b, double *out", "sc_scalar.h", "sc_core"),
    inline("int", "sc_math_ldexp", "sc_ctx *cx, double a, int64_t exponent, double *out", "sc_scalar.h", "sc_core"),
    inline("int", "sc_math_pow", "sc_ctx *cx, double a, double b, double *out", "sc_scalar.h", "sc_core"),
    inline("int", "sc_float_round", "sc_ctx *cx, double a, int64_t *out", "sc_scalar.h", "sc_core"),
    inline("int", "sc_float_round_to", "sc_ctx *cx, double a, int64_t digits, double *out", "sc_scalar.h", "sc_core"),
    inline("int", "sc_check_bound", "sc_ctx *cx, bool bound, const char *name", "sc_scalar.h", "sc_core"),
    inline("int", "sc_check_free", "sc_ctx *cx, bool bound, const char *name", "sc_scalar.h", "sc_core"),
    inline("int", "sc_check_unpack", "sc_ctx *cx, int64_t length, int64_t count", "sc_scalar.h", "sc_core"),
    inline("int", "sc_check_step", "sc_ctx *cx, int64_t step", "sc_scalar.h", "sc_core"),
    inline("int", "sc_enter", "sc_ctx *cx", "sc_scalar.h", "sc_core sc_stack"),
    inline("void", "sc_leave", "sc_ctx *cx", "sc_scalar.h"),
    inline("int64_t", "sc_strip_up", "int64_t i, int64_t stop", "sc_scalar.h"),
    inline("int64_t", "sc_strip_down", "int64_t i, int64_t stop", "sc_scalar.h"),
    inline("uint64_t", "sc_range_len", "int64_t start, int64_t stop, int64_t step", "sc_scalar.h"),
    inline("int64_t", "sc_range_at", "int64_t start, int64_t step, uint64_t k", "sc_scalar.h"),
    # sc_profile.h
    inline("void", "sc_profile_at", "sc_ctx *cx, int site", "sc_profile.h"),
    inline("void", "sc_profile_work", "const sc_ctx *cx, double flops, double bytes", "sc_profile.h"),
)

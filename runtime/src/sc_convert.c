/* sc_convert.c - rows of elements from one dtype to another.
 *
 * Ten dtypes make a hundred pairs. Instead each converts to one of three wide types (i64, f32, f64) without loss, and
 * from there to any other; a row goes through a small buffer unless one of the two steps is empty. Only contiguous rows
 * are converted: others are gathered first and scattered last, which keeps what there is of each pair small. Complex
 * elements are pairs of floating ones, so their parts are rows of twice the step. */
#include "../include/sc_cast.h"
#include "../include/sc_half.h"
#include "sc_internal.h"

#define SAME(x) (x)
#define TRUTH(x) ((x) != 0)

/* ---- narrow to wide ---- */
#define NAME load_bool
#define TO int64_t
#define FROM uint8_t
#define VAL TRUTH
#include "sc_convert.inc"
#define NAME load_u8
#define TO int64_t
#define FROM uint8_t
#define VAL SAME
#include "sc_convert.inc"
#define NAME load_i8
#define TO int64_t
#define FROM int8_t
#define VAL SAME
#include "sc_convert.inc"
#define NAME load_i16
#define TO int64_t
#define FROM int16_t
#define VAL SAME
#include "sc_convert.inc"
#define NAME load_i32
#define TO int64_t
#define FROM int32_t
#define VAL SAME
#include "sc_convert.inc"
#define NAME load_f16
#define TO float
#define FROM uint16_t
#define VAL sc_f16_to_f32
#include "sc_convert.inc"
#define NAME load_bf16
#define TO float
#define FROM uint16_t
#define VAL sc_bf16_to_f32
#include "sc_convert.inc"

/* ---- wide to any ---- */
#define HALF_OF(x) sc_f32_to_f16((float)(x))
#define BF16_OF(x) sc_f32_to_bf16((float)(x))
#define NAME i64_to_bool
#define TO uint8_t
#define FROM int64_t
#define VAL TRUTH
#include "sc_convert.inc"
#define NAME i64_to_u8
#define TO uint8_t
#define FROM int64_t
#define VAL (uint8_t)
#include "sc_convert.inc"
#define NAME i64_to_i8
#define TO int8_t
#define FROM int64_t
#define VAL (int8_t)
#include "sc_convert.inc"
#define NAME i64_to_i16
#define TO int16_t
#define FROM int64_t
#define VAL (int16_t)
#include "sc_convert.inc"
#define NAME i64_to_i32
#define TO int32_t
#define FROM int64_t
#define VAL (int32_t)
#include "sc_convert.inc"
#define NAME i64_to_f16
#define TO uint16_t
#define FROM int64_t
#define VAL HALF_OF
#include "sc_convert.inc"
#define NAME i64_to_bf16
#define TO uint16_t
#define FROM int64_t
#define VAL BF16_OF
#include "sc_convert.inc"
#define NAME i64_to_f32
#define TO float
#define FROM int64_t
#define VAL (float)
#include "sc_convert.inc"
#define NAME i64_to_f64
#define TO double
#define FROM int64_t
#define VAL (double)
#include "sc_convert.inc"
#define NAME f32_to_bool
#define TO uint8_t
#define FROM float
#define VAL TRUTH
#include "sc_convert.inc"
#define NAME f32_to_u8
#define TO uint8_t
#define FROM float
#define VAL (uint8_t)sc_f32_to_i32
#include "sc_convert.inc"
#define NAME f32_to_i8
#define TO int8_t
#define FROM float
#define VAL (int8_t)sc_f32_to_i32
#include "sc_convert.inc"
#define NAME f32_to_i16
#define TO int16_t
#define FROM float
#define VAL (int16_t)sc_f32_to_i32
#include "sc_convert.inc"
#define NAME f32_to_i32
#define TO int32_t
#define FROM float
#define VAL sc_f32_to_i32
#include "sc_convert.inc"
#define NAME f32_to_i64
#define TO int64_t
#define FROM float
#define VAL sc_f32_to_i64
#include "sc_convert.inc"
#define NAME f32_to_f16
#define TO uint16_t
#define FROM float
#define VAL HALF_OF
#include "sc_convert.inc"
#define NAME f32_to_bf16
#define TO uint16_t
#define FROM float
#define VAL BF16_OF
#include "sc_convert.inc"
#define NAME f32_to_f64
#define TO double
#define FROM float
#define VAL (double)
#include "sc_convert.inc"
#define NAME f64_to_bool
#define TO uint8_t
#define FROM double
#define VAL TRUTH
#include "sc_convert.inc"
#define NAME f64_to_u8
#define TO uint8_t
#define FROM double
#define VAL (uint8_t)sc_f64_to_i64
#include "sc_convert.inc"
#define NAME f64_to_i8
#define TO int8_t
#define FROM double
#define VAL (int8_t)sc_f64_to_i32
#include "sc_convert.inc"
#define NAME f64_to_i16
#define TO int16_t
#define FROM double
#define VAL (int16_t)sc_f64_to_i32
#include "sc_convert.inc"
#define NAME f64_to_i32
#define TO int32_t
#define FROM double
#define VAL sc_f64_to_i32
#include "sc_convert.inc"
#define NAME f64_to_i64
#define TO int64_t
#define FROM double
#define VAL sc_f64_to_i64
#include "sc_convert.inc"
#define NAME f64_to_f16
#define TO uint16_t
#define FROM double
#define VAL HALF_OF
#include "sc_convert.inc"
#define NAME f64_to_bf16
#define TO uint16_t
#define FROM double
#define VAL BF16_OF
#include "sc_convert.inc"
#define NAME f64_to_f32
#define TO float
#define FROM double
#define VAL (float)
#include "sc_convert.inc"

#undef SAME
#undef TRUTH
#undef HALF_OF
#undef BF16_OF

typedef void convert_function(void *dst, const void *src, int64_t n);

static convert_function *load_function(int dtype) {
    static convert_function *const table[SC_NDTYPES] = {load_bool, load_u8,  load_i8,   load_i16, load_i32,
                                                        NULL,      load_f16, load_bf16, NULL,     NULL};
    return table[dtype];
}

static convert_function *store_function(int wide, int dtype) {
    static convert_function *const from_i64[SC_NDTYPES] = {i64_to_bool, i64_to_u8,  i64_to_i8,   i64_to_i16, i64_to_i32,
                                                           NULL,        i64_to_f16, i64_to_bf16, i64_to_f32, i64_to_f64};
    static convert_function *const from_f32[SC_NDTYPES] = {f32_to_bool, f32_to_u8,  f32_to_i8,   f32_to_i16, f32_to_i32,
                                                           f32_to_i64,  f32_to_f16, f32_to_bf16, NULL,       f32_to_f64};
    static convert_function *const from_f64[SC_NDTYPES] = {f64_to_bool, f64_to_u8,  f64_to_i8,   f64_to_i16, f64_to_i32,
                                                           f64_to_i64,  f64_to_f16, f64_to_bf16, f64_to_f32, NULL};
    return (wide == SC_I64 ? from_i64 : wide == SC_F32 ? from_f32 : from_f64)[dtype];
}

/* ---- rows ---- */

enum { CONVERT_CHUNK = 512 }; /* elements of the buffers */

static int wide_dtype(int dtype) {
    return !sc_is_float(dtype) ? SC_I64 : dtype == SC_F64 ? SC_F64 : SC_F32;
}

static void convert_part(int part, void *dst, int dst_dtype, int64_t dst_step, const void *src, int src_dtype, int64_t src_step,
                         int64_t n) {
    if (sc_is_complex(dst_dtype)) {
        dst_dtype = sc_part(dst_dtype), dst_step *= 2;
        dst = (char *)dst + (size_t)part * sc_dtype_size(dst_dtype);
    }
    if (sc_is_complex(src_dtype)) {
        src_dtype = sc_part(src_dtype), src_step *= 2;
        src = (const char *)src + (size_t)part * sc_dtype_size(src_dtype);
    }
    sc_convert_row(dst, dst_dtype, dst_step, src, src_dtype, src_step, n);
}

/* Convert complex elements. A real element gets the imaginary part 0. A complex element as a real one loses its
 * imaginary part; as a bool, it is true if either part is not 0. */
static void convert_complex(void *dst, int dst_dtype, int64_t dst_step, const void *src, int src_dtype, int64_t src_step, int64_t n) {
    static const uint8_t zero = 0;
    uint8_t *truth = dst;
    convert_part(0, dst, dst_dtype, dst_step, src, src_dtype, src_step, n);
    if (sc_is_complex(dst_dtype) && sc_is_complex(src_dtype)) convert_part(1, dst, dst_dtype, dst_step, src, src_dtype, src_step, n);
    else if (sc_is_complex(dst_dtype)) convert_part(1, dst, dst_dtype, dst_step, &zero, SC_U8, 0, n);
    else if (dst_dtype == SC_BOOL)
        for (int64_t i = 0; i < n; i++, truth += dst_step) {
            uint8_t imaginary;
            convert_part(1, &imaginary, SC_BOOL, 1, (const char *)src + i * src_step * (int64_t)sc_dtype_size(src_dtype), src_dtype, 1, 1);
            *truth |= imaginary;
        }
}

SC_KERNEL void sc_convert_row(void *dst, int dst_dtype, int64_t dst_step, const void *src, int src_dtype, int64_t src_step,
                              int64_t n) {
    int64_t dst_size = (int64_t)sc_dtype_size(dst_dtype), src_size = (int64_t)sc_dtype_size(src_dtype);
    if (dst_dtype == src_dtype) {
        sc_move_row((size_t)dst_size, dst, dst_step, src, src_step, n);
        return;
    }
    if (sc_is_complex(dst_dtype) || sc_is_complex(src_dtype)) {
        convert_complex(dst, dst_dtype, dst_step, src, src_dtype, src_step, n);
        return;
    }
    int wide = wide_dtype(src_dtype);
    bool direct = dst_step == 1 && src_step == 1 && (dst_dtype == wide || src_dtype == wide);
    int64_t chunk = direct ? n : CONVERT_CHUNK;
    int64_t gathered[CONVERT_CHUNK], widened[CONVERT_CHUNK], converted[CONVERT_CHUNK];
    for (int64_t i = 0; i < n; i += chunk) {
        int64_t m = n - i < chunk ? n - i : chunk;
        const void *from = (const char *)src + i * src_step * src_size;
        void *to = (char *)dst + i * dst_step * dst_size, *made = dst_step == 1 ? to : converted;
        if (src_step != 1) {
            sc_move_row((size_t)src_size, gathered, 1, from, src_step, m);
            from = gathered;
        }
        if (dst_dtype == wide) load_function(src_dtype)(made, from, m);
        else if (src_dtype == wide) store_function(wide, dst_dtype)(made, from, m);
        else {
            load_function(src_dtype)(widened, from, m);
            store_function(wide, dst_dtype)(made, widened, m);
        }
        if (dst_step != 1) sc_move_row((size_t)dst_size, to, dst_step, converted, 1, m);
    }
}

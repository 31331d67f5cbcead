/* sc_conv_direct.h - what sc_conv_direct.c has for sc_conv.c. Tensors are contiguous and of one dtype, SC_F32 or SC_F64; x is batched and
 * out [batch, groups * filters, ...] exists. -1 or NULL where memory ends. */
#ifndef SC_CONV_DIRECT_H
#define SC_CONV_DIRECT_H
#include "sc_internal.h"

typedef struct conv_shape { /* sizes of one group; pairs are (h, w) */
    int64_t channels, filters, in[2], out[2], kernel[2], stride[2], padding[2], dilation[2];
} conv_shape;

SC_KERNEL int conv_forward(sc_ctx *cx, const conv_shape *s, int dtype, int64_t groups, const sc_tensor *x, const sc_tensor *w,
                           const sc_tensor *bias, sc_tensor *out);
/* Return the weight of a transposed convolution in the order of its use, which depends on stride, padding and dilation,
 * but not on the input: for each position modulo the stride and each group [filters, channels, elements of the
 * kernel]. */
SC_KERNEL sc_tensor *conv_arrange(sc_ctx *cx, const conv_shape *s, int64_t groups, const sc_tensor *w);
SC_KERNEL int conv_transposed(sc_ctx *cx, const conv_shape *s, int dtype, int64_t groups, const sc_tensor *x, const void *arranged,
                              const sc_tensor *bias, sc_tensor *out);

#endif

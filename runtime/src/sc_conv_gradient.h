/* sc_conv_gradient.h - what sc_conv_gradient.c has for sc_conv.c. */
#ifndef SC_CONV_GRADIENT_H
#define SC_CONV_GRADIENT_H
#include "sc_conv_direct.h"

/* Compute the gradient of the weight of a convolution into the contiguous out [groups * filters, channels, kernel]. x, of sizes
 * s->in, is what was convolved, and y, of sizes s->out, the gradient of the result. Both are images of the dtype of out, SC_F32 or
 * SC_F64, of any strides. -1 where memory ends. */
SC_KERNEL int conv_weight_gradient(sc_ctx *cx, const conv_shape *s, int64_t groups, const sc_tensor *x, const sc_tensor *y,
                                   sc_tensor *out);

#endif

/* sc_conv_winograd.h - what sc_conv_winograd.c has for sc_conv.c. */
#ifndef SC_CONV_WINOGRAD_H
#define SC_CONV_WINOGRAD_H
#include "sc_conv_packed.h"

/* Return whether a weight is worth transforming: 3 x 3, without groups, with enough channels and filters. The convolution has
 * strides and dilations of 1. */
SC_KERNEL bool sc_conv_winograd_pays(const sc_conv *c);
/* Return the number of floats that the transformed weight and the bias take. */
SC_KERNEL int64_t sc_conv_winograd_floats(const sc_conv *c);
/* Filters of 3 x 3 elements, with strides in floats. */
typedef struct sc_conv_filters { const float *data; int64_t filter, channel, element; } sc_conv_filters;
/* Transform a weight. Return false if some element is not finite; then another form is needed.
 * bias may be NULL. */
SC_KERNEL bool sc_conv_winograd_pack(const sc_conv *c, sc_conv_filters weight, const float *bias, float *to);
/* Compute out = clamp(conv(in) + add). add.data is NULL if there is nothing to add. -1 where memory ends. */
SC_KERNEL int sc_conv_winograd_run(sc_ctx *cx, const sc_conv *c, sc_conv_images in, sc_conv_images out, sc_conv_images add,
                                   const float *packed);

#endif

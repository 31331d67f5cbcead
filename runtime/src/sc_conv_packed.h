/* sc_conv_packed.h - what sc_conv_packed.c and sc_conv_depthwise.c have for sc_conv.c and sc_conv_frozen.c. */
#ifndef SC_CONV_PACKED_H
#define SC_CONV_PACKED_H
#include "sc_internal.h"

/* What a 1 x 1 convolution without groups does to its image first: clamp(pixel * scale + shift, low, high), with a scale for each
 * channel, `image` floats apart for each image, and a shift for each channel, which may be NULL. may_scale_weights: the
 * scales may be multiplied into the weights instead, since no product overflows or loses bits. */
typedef struct sc_conv_prologue {
    const float *scale, *shift;
    int64_t image;
    float low, high;
    bool may_scale_weights;
} sc_conv_prologue;

/* Sizes of a convolution without groups, or of a depthwise one, of which `filters` is the number of groups and `channels` is 1;
 * pairs are (h, w). Results are put between low and high, then into the activation, if there is one and the channels of the
 * result are side by side. */
typedef struct sc_conv {
    int64_t images, channels, filters, in[2], out[2], kernel[2], stride[2], padding[2], dilation[2];
    float low, high;
    sc_activation *activation;
    const sc_conv_prologue *prologue; /* NULL: none */
} sc_conv;
/* Apply an activation to so many channels of pixels that are `column` apart. */
static inline void packed_activate(sc_activation *activation, float *to, int64_t column, int64_t pixels, int64_t channels) {
    if (column == channels) activation(to, 1, pixels * channels, 0);
    else activation(to, pixels, channels, column);
}

/* Floats of images, with strides in floats. */
typedef struct sc_conv_images { float *data; int64_t image, channel, row, column; } sc_conv_images;
static inline sc_conv_images conv_images(const sc_tensor *t) {
    const int64_t *s = t->stride;
    return (sc_conv_images){t->data, s[0], s[1], s[2], s[3]};
}
static inline float *packed_at(const sc_conv_images *of, int64_t image, int64_t row, int64_t column, int64_t channel) {
    return of->data ? of->data + image * of->image + row * of->row + column * of->column + channel * of->channel : NULL;
}

/* Return the number of floats that the packed weight and bias take. */
SC_KERNEL int64_t sc_conv_packed_floats(const sc_conv *c, bool depthwise);
/* Pack a contiguous weight [filters, channels, kernel] and a bias, which may be NULL. */
SC_KERNEL void sc_conv_pack(const sc_conv *c, bool depthwise, const float *weight, const float *bias, float *to);
/* Compute out = clamp(conv(in) + add). add.data is NULL if there is nothing to add. -1 where memory ends. */
SC_KERNEL int sc_conv_packed_run(sc_ctx *cx, const sc_conv *c, sc_conv_images in, sc_conv_images out, sc_conv_images add,
                                 const float *packed);
/* The channels of all images are side by side; there are at least 16. */
SC_KERNEL void sc_conv_depthwise_run(sc_ctx *cx, const sc_conv *c, sc_conv_images in, sc_conv_images out, sc_conv_images add,
                                     const float *packed);

#endif

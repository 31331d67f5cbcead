/* scriptc_th.h - functions of TH, the tensor library of torch 0.4 and before, over DLTensor, so that C written for
 * torch.utils.ffi compiles. They have TH's names, arguments and meanings. As in TH, a function that cannot do its work
 * does not return: the call of the extension ends, with the message as a RuntimeError.
 *
 * THFloatTensor and its siblings are DLTensor. In a prototype, their names also tell the dtype that Python must pass. */
#ifndef SCRIPTC_TH_H
#define SCRIPTC_TH_H

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct DLTensor THFloatTensor, THDoubleTensor, THLongTensor, THIntTensor, THShortTensor, THCharTensor, THByteTensor;

/* X(name, real, accreal, DLPack's code) for each kind of tensor. */
#define SC_TH_KINDS(X) \
    X(Float, float, double, kDLFloat) \
    X(Double, double, double, kDLFloat) \
    X(Long, int64_t, int64_t, kDLInt) \
    X(Int, int32_t, int64_t, kDLInt) \
    X(Short, int16_t, int64_t, kDLInt) \
    X(Char, int8_t, int64_t, kDLInt) \
    X(Byte, uint8_t, int64_t, kDLUInt)

/* r_ is resized as the tensor after it. cadd: r_ = t + value * src. */
#define SC_TH_DECLARE(Name, real, accreal, code) \
    real *TH##Name##Tensor_data(const TH##Name##Tensor *self); \
    int TH##Name##Tensor_nDimension(const TH##Name##Tensor *self); \
    int64_t TH##Name##Tensor_size(const TH##Name##Tensor *self, int dim); \
    int64_t TH##Name##Tensor_stride(const TH##Name##Tensor *self, int dim); \
    int64_t TH##Name##Tensor_nElement(const TH##Name##Tensor *self); \
    int TH##Name##Tensor_isContiguous(const TH##Name##Tensor *self); \
    int TH##Name##Tensor_isSameSizeAs(const TH##Name##Tensor *self, const TH##Name##Tensor *src); \
    void TH##Name##Tensor_resizeAs(TH##Name##Tensor *self, const TH##Name##Tensor *src); \
    void TH##Name##Tensor_resizeNd(TH##Name##Tensor *self, int ndim, const int64_t *sizes); \
    void TH##Name##Tensor_resize1d(TH##Name##Tensor *self, int64_t n0); \
    void TH##Name##Tensor_resize2d(TH##Name##Tensor *self, int64_t n0, int64_t n1); \
    void TH##Name##Tensor_resize3d(TH##Name##Tensor *self, int64_t n0, int64_t n1, int64_t n2); \
    void TH##Name##Tensor_resize4d(TH##Name##Tensor *self, int64_t n0, int64_t n1, int64_t n2, int64_t n3); \
    TH##Name##Tensor *TH##Name##Tensor_new(void); \
    TH##Name##Tensor *TH##Name##Tensor_newWithSize1d(int64_t n0); \
    TH##Name##Tensor *TH##Name##Tensor_newWithSize2d(int64_t n0, int64_t n1); \
    TH##Name##Tensor *TH##Name##Tensor_newWithSize3d(int64_t n0, int64_t n1, int64_t n2); \
    TH##Name##Tensor *TH##Name##Tensor_newWithSize4d(int64_t n0, int64_t n1, int64_t n2, int64_t n3); \
    TH##Name##Tensor *TH##Name##Tensor_newClone(const TH##Name##Tensor *self); \
    TH##Name##Tensor *TH##Name##Tensor_newContiguous(TH##Name##Tensor *self); \
    void TH##Name##Tensor_retain(TH##Name##Tensor *self); \
    void TH##Name##Tensor_free(TH##Name##Tensor *self); \
    void TH##Name##Tensor_set1d(TH##Name##Tensor *self, int64_t x0, real value); \
    void TH##Name##Tensor_set2d(TH##Name##Tensor *self, int64_t x0, int64_t x1, real value); \
    real TH##Name##Tensor_get1d(const TH##Name##Tensor *self, int64_t x0); \
    real TH##Name##Tensor_get2d(const TH##Name##Tensor *self, int64_t x0, int64_t x1); \
    void TH##Name##Tensor_copy(TH##Name##Tensor *self, const TH##Name##Tensor *src); \
    void TH##Name##Tensor_fill(TH##Name##Tensor *self, real value); \
    void TH##Name##Tensor_zero(TH##Name##Tensor *self); \
    void TH##Name##Tensor_add(TH##Name##Tensor *r_, const TH##Name##Tensor *t, real value); \
    void TH##Name##Tensor_sub(TH##Name##Tensor *r_, const TH##Name##Tensor *t, real value); \
    void TH##Name##Tensor_mul(TH##Name##Tensor *r_, const TH##Name##Tensor *t, real value); \
    void TH##Name##Tensor_div(TH##Name##Tensor *r_, const TH##Name##Tensor *t, real value); \
    void TH##Name##Tensor_cadd(TH##Name##Tensor *r_, const TH##Name##Tensor *t, real value, const TH##Name##Tensor *src); \
    void TH##Name##Tensor_csub(TH##Name##Tensor *r_, const TH##Name##Tensor *t, real value, const TH##Name##Tensor *src); \
    void TH##Name##Tensor_cmul(TH##Name##Tensor *r_, const TH##Name##Tensor *t, const TH##Name##Tensor *src); \
    void TH##Name##Tensor_cdiv(TH##Name##Tensor *r_, const TH##Name##Tensor *t, const TH##Name##Tensor *src); \
    accreal TH##Name##Tensor_sumall(const TH##Name##Tensor *t); \
    accreal TH##Name##Tensor_dot(const TH##Name##Tensor *t, const TH##Name##Tensor *src); \
    real TH##Name##Tensor_minall(const TH##Name##Tensor *t); \
    real TH##Name##Tensor_maxall(const TH##Name##Tensor *t);
SC_TH_KINDS(SC_TH_DECLARE)

/* End the call of the extension with a message. */
void sc_th_error(const char *format, ...) __attribute__((cold, noreturn, format(printf, 1, 2)));
void *THAlloc(ptrdiff_t size);
void THFree(void *block);

#define THError(...) sc_th_error(__VA_ARGS__)
#define THArgCheck(condition, argument, ...) \
    do { if (!(condition)) sc_th_argument_error((argument), __VA_ARGS__); } while (0)
#define THAssert(condition) \
    do { if (!(condition)) sc_th_error("Assertion `%s' failed.", #condition); } while (0)
void sc_th_argument_error(int argument, const char *format, ...) __attribute__((cold, noreturn, format(printf, 2, 3)));

#ifdef __cplusplus
}
#endif
#endif

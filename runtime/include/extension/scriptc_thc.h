/* scriptc_thc.h - the functions of THC, TH for CUDA, that code for torch.utils.ffi calls most. scriptc_extension.h includes
 * it where an extension is built with_cuda. A THCudaTensor is a DLTensor of float32 on a CUDA device. The functions run on the
 * current stream of torch. As in THC, a function that cannot do its work does not return. */
#ifndef SCRIPTC_THC_H
#define SCRIPTC_THC_H

#include "scriptc_th.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct DLTensor THCudaTensor;
typedef struct THCState THCState;
typedef struct CUstream_st *cudaStream_t;

extern THCState *state;

cudaStream_t THCState_getCurrentStream(THCState *state);
void sc_thc_check(int error, const char *call);
#define THCudaCheck(call) sc_thc_check((int)(call), #call)

float *THCudaTensor_data(THCState *state, const THCudaTensor *self);
int THCudaTensor_nDimension(THCState *state, const THCudaTensor *self);
int64_t THCudaTensor_size(THCState *state, const THCudaTensor *self, int dim);
int64_t THCudaTensor_stride(THCState *state, const THCudaTensor *self, int dim);
int64_t THCudaTensor_nElement(THCState *state, const THCudaTensor *self);
int THCudaTensor_isContiguous(THCState *state, const THCudaTensor *self);
int THCudaTensor_isSameSizeAs(THCState *state, const THCudaTensor *self, const THCudaTensor *src);
void THCudaTensor_resizeAs(THCState *state, THCudaTensor *self, const THCudaTensor *src);
void THCudaTensor_resize1d(THCState *state, THCudaTensor *self, int64_t n0);
void THCudaTensor_resize2d(THCState *state, THCudaTensor *self, int64_t n0, int64_t n1);
void THCudaTensor_resize3d(THCState *state, THCudaTensor *self, int64_t n0, int64_t n1, int64_t n2);
void THCudaTensor_resize4d(THCState *state, THCudaTensor *self, int64_t n0, int64_t n1, int64_t n2, int64_t n3);
void THCudaTensor_copy(THCState *state, THCudaTensor *self, const THCudaTensor *src);
void THCudaTensor_fill(THCState *state, THCudaTensor *self, float value);
void THCudaTensor_zero(THCState *state, THCudaTensor *self);
void THCudaTensor_add(THCState *state, THCudaTensor *r_, const THCudaTensor *t, float value);
void THCudaTensor_mul(THCState *state, THCudaTensor *r_, const THCudaTensor *t, float value);
void THCudaTensor_cadd(THCState *state, THCudaTensor *r_, const THCudaTensor *t, float value, const THCudaTensor *src);
void THCudaTensor_cmul(THCState *state, THCudaTensor *r_, const THCudaTensor *t, const THCudaTensor *src);

#ifdef __cplusplus
}
#endif
#endif

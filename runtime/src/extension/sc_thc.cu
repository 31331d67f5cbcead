/* sc_thc.cu - the functions of scriptc_thc.h. nvcc compiles it as C++ for extensions that are built with_cuda. */
#include <cuda_runtime.h>

#include "scriptc_extension.h"

extern "C" {
void *sc_extension_stream(void);
}

THCState *state = NULL; /* programs pass it on, and no function reads it */

cudaStream_t THCState_getCurrentStream(THCState *) {
    return (cudaStream_t)sc_extension_stream();
}

void sc_thc_check(int error, const char *call) {
    if (error) sc_th_error("cuda runtime error (%d): %s in %s", error, cudaGetErrorString((cudaError_t)error), call);
}

/* ---- elements: a tensor whose elements a kernel finds by their number ---- */

enum { MOST_DIMS = 16, THREADS = 256 };

struct elements {
    float *data;
    int ndim; /* 0 if the tensor is contiguous */
    int64_t size[MOST_DIMS], stride[MOST_DIMS];

    __device__ float &at(int64_t i) const {
        if (!ndim) return data[i];
        int64_t place = 0;
        for (int d = ndim - 1; d >= 0; d--) {
            place += i % size[d] * stride[d];
            i /= size[d];
        }
        return data[place];
    }
};

static elements elements_of(const DLTensor *t) {
    elements e = {};
    e.data = SC_DATA(float, t);
    if (sc_tensor_is_contiguous(t)) return e;
    THArgCheck(t->ndim <= MOST_DIMS, 1, "more than %d dimensions", MOST_DIMS);
    e.ndim = t->ndim;
    for (int d = 0; d < t->ndim; d++) e.size[d] = t->shape[d], e.stride[d] = t->strides[d];
    return e;
}

template <typename F> __global__ void run_each(int64_t n, F f) {
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) f(i);
}

template <typename F> static void for_each(int64_t n, F f) {
    if (n == 0) return;
    const int64_t blocks = (n + THREADS - 1) / THREADS;
    run_each<<<(unsigned)(blocks < 65535 ? blocks : 65535), THREADS, 0, THCState_getCurrentStream(state)>>>(n, f);
    THCudaCheck(cudaGetLastError());
}

struct constant_of {
    elements to;
    float value;
    __device__ void operator()(int64_t i) const { to.at(i) = value; }
};

struct scaled_of { /* to = scale * from + value */
    elements to, from;
    float scale, value;
    __device__ void operator()(int64_t i) const { to.at(i) = scale * from.at(i) + value; }
};

struct sum_of { /* to = a + value * b */
    elements to, a, b;
    float value;
    __device__ void operator()(int64_t i) const { to.at(i) = a.at(i) + value * b.at(i); }
};

struct product_of {
    elements to, a, b;
    __device__ void operator()(int64_t i) const { to.at(i) = a.at(i) * b.at(i); }
};

static void resize(DLTensor *t, int ndim, const int64_t *sizes) {
    if (sc_resize(t, ndim, sizes)) sc_th_error("a tensor cannot be resized");
}

static void require_equal_count(const DLTensor *a, const DLTensor *b) {
    if (sc_numel(a) != sc_numel(b))
        sc_th_error("inconsistent tensor size: %lld and %lld elements", (long long)sc_numel(a), (long long)sc_numel(b));
}

/* ---- the functions ---- */

float *THCudaTensor_data(THCState *, const THCudaTensor *self) {
    return SC_DATA(float, self);
}

int THCudaTensor_nDimension(THCState *, const THCudaTensor *self) {
    return self->ndim;
}

int64_t THCudaTensor_size(THCState *, const THCudaTensor *self, int dim) {
    return THFloatTensor_size(self, dim);
}

int64_t THCudaTensor_stride(THCState *, const THCudaTensor *self, int dim) {
    return THFloatTensor_stride(self, dim);
}

int64_t THCudaTensor_nElement(THCState *, const THCudaTensor *self) {
    return sc_numel(self);
}

int THCudaTensor_isContiguous(THCState *, const THCudaTensor *self) {
    return sc_tensor_is_contiguous(self);
}

int THCudaTensor_isSameSizeAs(THCState *, const THCudaTensor *self, const THCudaTensor *src) {
    return sc_same_size(self, src);
}

void THCudaTensor_resizeAs(THCState *, THCudaTensor *self, const THCudaTensor *src) {
    resize(self, src->ndim, src->shape);
}

void THCudaTensor_resize1d(THCState *, THCudaTensor *self, int64_t n0) {
    resize(self, 1, &n0);
}

void THCudaTensor_resize2d(THCState *, THCudaTensor *self, int64_t n0, int64_t n1) {
    const int64_t sizes[] = {n0, n1};
    resize(self, 2, sizes);
}

void THCudaTensor_resize3d(THCState *, THCudaTensor *self, int64_t n0, int64_t n1, int64_t n2) {
    const int64_t sizes[] = {n0, n1, n2};
    resize(self, 3, sizes);
}

void THCudaTensor_resize4d(THCState *, THCudaTensor *self, int64_t n0, int64_t n1, int64_t n2, int64_t n3) {
    const int64_t sizes[] = {n0, n1, n2, n3};
    resize(self, 4, sizes);
}

void THCudaTensor_copy(THCState *, THCudaTensor *self, const THCudaTensor *src) {
    require_equal_count(self, src);
    for_each(sc_numel(self), scaled_of{elements_of(self), elements_of(src), 1, 0});
}

void THCudaTensor_fill(THCState *, THCudaTensor *self, float value) {
    for_each(sc_numel(self), constant_of{elements_of(self), value});
}

void THCudaTensor_zero(THCState *, THCudaTensor *self) {
    THCudaTensor_fill(state, self, 0);
}

void THCudaTensor_add(THCState *, THCudaTensor *r_, const THCudaTensor *t, float value) {
    THCudaTensor_resizeAs(state, r_, t);
    for_each(sc_numel(t), scaled_of{elements_of(r_), elements_of(t), 1, value});
}

void THCudaTensor_mul(THCState *, THCudaTensor *r_, const THCudaTensor *t, float value) {
    THCudaTensor_resizeAs(state, r_, t);
    for_each(sc_numel(t), scaled_of{elements_of(r_), elements_of(t), value, 0});
}

void THCudaTensor_cadd(THCState *, THCudaTensor *r_, const THCudaTensor *t, float value, const THCudaTensor *src) {
    require_equal_count(t, src);
    THCudaTensor_resizeAs(state, r_, t);
    for_each(sc_numel(t), sum_of{elements_of(r_), elements_of(t), elements_of(src), value});
}

void THCudaTensor_cmul(THCState *, THCudaTensor *r_, const THCudaTensor *t, const THCudaTensor *src) {
    require_equal_count(t, src);
    THCudaTensor_resizeAs(state, r_, t);
    for_each(sc_numel(t), product_of{elements_of(r_), elements_of(t), elements_of(src)});
}

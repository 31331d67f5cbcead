/* Calls the tutorial's functions for CUDA in a library, on a GPU: PROGRAM LIBRARY KEY. */
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "sc_extension.h"

enum { ROWS = 300, COLUMNS = 70, N = ROWS * COLUMNS };

static int resize(sc_tensor_handle *self, int32_t ndim, const int64_t *sizes) {
    int64_t *layout = (int64_t *)malloc((2 * ndim + 1) * sizeof *layout), n = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        layout[i] = sizes[i];
        layout[ndim + i] = n;
        n *= sizes[i];
    }
    self->tensor.ndim = ndim;
    self->tensor.shape = layout;
    self->tensor.strides = layout + ndim;
    return cudaMalloc(&self->tensor.data, sizeof(float) * n) ? sc_fail("no memory on the device") : 0;
}

static sc_tensor_handle make(int rows, int columns, bool transposed, cudaStream_t stream) {
    sc_tensor_handle made = {};
    made.tensor.device.device_type = kDLCUDA;
    made.tensor.dtype = DLDataType{kDLFloat, 32, 1};
    made.resize = resize;
    made.stream = stream;
    const int64_t sizes[] = {rows, columns};
    resize(&made, 2, sizes);
    if (transposed) {
        made.tensor.strides[0] = 1;
        made.tensor.strides[1] = rows;
    }
    float data[N];
    for (int i = 0; i < rows * columns; i++) data[i] = (float)i;
    cudaMemcpy(made.tensor.data, data, sizeof(float) * rows * columns, cudaMemcpyHostToDevice);
    return made;
}

static sc_extension_function *find(void *library, const char *key, const char *function) {
    char name[200];
    snprintf(name, sizeof name, "scriptc_call_%.16s_%s", key, function);
    return (sc_extension_function *)dlsym(library, name);
}

int sc_fail(const char *, ...) {
    return -1;
}

int main(int, char **argv) {
    void *library = dlopen(argv[1], RTLD_NOW);
    if (!library) return puts(dlerror()), 1;
    cudaStream_t stream;
    if (cudaStreamCreate(&stream)) return puts("no device"), 1;
    sc_extension_function *forward = find(library, argv[2], "my_lib_add_forward_cuda");
    sc_extension_function *backward = find(library, argv[2], "my_lib_add_backward_cuda");
    sc_tensor_handle a = make(ROWS, COLUMNS, false, stream), b = make(ROWS, COLUMNS, true, stream);
    sc_tensor_handle out = make(0, 0, false, stream), other = make(3, 7, false, stream);
    sc_extension_error error;
    sc_extension_value result, args[3];
    static float found[N];

    args[0].t = &a.tensor, args[1].t = &b.tensor, args[2].t = &out.tensor;
    int wrong = forward(&error, args, &result) != 0 || result.i != 1;
    cudaStreamSynchronize(stream);
    cudaMemcpy(found, out.tensor.data, sizeof found, cudaMemcpyDeviceToHost);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            wrong += found[i * COLUMNS + j] != (float)(i * COLUMNS + j) + (float)(i + j * ROWS);

    args[0].t = &out.tensor, args[1].t = &a.tensor;
    wrong += backward(&error, args, &result) != 0 || result.i != 1;
    cudaStreamSynchronize(stream);
    cudaMemcpy(found, a.tensor.data, sizeof found, cudaMemcpyDeviceToHost);
    for (int i = 0; i < N; i++) wrong += found[i] != 1;

    args[0].t = &other.tensor, args[1].t = &b.tensor, args[2].t = &out.tensor;
    wrong += forward(&error, args, &result) != 0 || result.i != 0;
    printf("%d wrong\n", wrong);
    return wrong != 0;
}

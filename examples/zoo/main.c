/* Calls a net of the zoo: run_net WEIGHTS INPUT OUTPUT SIZE... reads the input, floats of these sizes, from a file, writes the
 * result's floats to another, and prints its sizes. */
#include <stdio.h>
#include <stdlib.h>

#include "net.h"

static int fail(const char *what) {
    fprintf(stderr, "%s\n", what);
    return 1;
}

int main(int argc, char **argv) {
    char why[256];
    int64_t size[8], count = 1;
    int rank = argc - 4;
    if (rank < 1 || rank > 8) return fail("usage: run_net WEIGHTS INPUT OUTPUT SIZE...");
    for (int d = 0; d < rank; d++) {
        size[d] = atoll(argv[4 + d]);
        count *= size[d];
    }
    float *image = malloc((size_t)count * sizeof *image);
    FILE *in = fopen(argv[2], "rb");
    if (!image || !in || fread(image, sizeof *image, (size_t)count, in) != (size_t)count) return fail("cannot read the input");
    fclose(in);

    net_model *model = net_load(argv[1], why, sizeof why);
    if (!model) return fail(why);
    net_context *context = net_context_new(model);
    if (!context) return fail("out of memory");
    DLTensor x = {.data = image, .device = {kDLCPU, 0}, .ndim = rank, .dtype = {kDLFloat, 32, 1}, .shape = size};
    DLManagedTensorVersioned *result;
    if (net_forward(context, &x, &result) != SCRIPTC_OK) {
        const scriptc_error *e = net_last_error(context);
        fprintf(stderr, "%s: %s\n%s\n", e->type, e->message, e->traceback);
        return 1;
    }
    const DLTensor *y = &result->dl_tensor; /* contiguous, as eager's results of these nets are */
    size_t n = 1;
    for (int d = 0; d < y->ndim; d++) {
        n *= (size_t)y->shape[d];
        printf("%lld ", (long long)y->shape[d]);
    }
    FILE *out = fopen(argv[3], "wb");
    if (!out || fwrite((const char *)y->data + y->byte_offset, sizeof(float), n, out) != n || fclose(out)) return fail("cannot write the result");
    result->deleter(result);
    net_context_free(context);
    net_free(model);
    free(image);
    return 0;
}

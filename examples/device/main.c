/* Trains a net: train WEIGHTS CALLS SEED SAVED reads calls from a file, makes them, prints the loss of each, and saves the state.
 *
 * A call is the letter of an entry as a 64-bit integer. For `t`, train, and `e`, evaluate, two tensors follow: DLPack's code and
 * bits, rank, sizes, and the elements, as 64-bit integers and raw data. `b` begins a run over a text, and `f` finishes an epoch
 * with the mean of the losses of the evaluations since `b`. */
#include <stdio.h>
#include <stdlib.h>

#include "net.h"

static void fail(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static void read_exactly(FILE *file, void *to, size_t bytes) {
    if (fread(to, 1, bytes, file) != bytes) fail("the file of calls is not complete");
}

typedef struct tensor {
    DLTensor dl;
    int64_t size[4];
} tensor;

static void read_tensor(FILE *file, tensor *t) {
    int64_t head[3], count = 1;
    read_exactly(file, head, sizeof head);
    if (head[2] < 0 || head[2] > 4) fail("a tensor has too many dimensions");
    read_exactly(file, t->size, (size_t)head[2] * sizeof *t->size);
    for (int64_t d = 0; d < head[2]; d++) count *= t->size[d];
    size_t bytes = (size_t)(count * head[1] / 8);
    t->dl = (DLTensor){.data = malloc(bytes + 1), .device = {kDLCPU, 0}, .ndim = (int32_t)head[2], .shape = t->size};
    t->dl.dtype = (DLDataType){(uint8_t)head[0], (uint8_t)head[1], 1};
    if (!t->dl.data) fail("out of memory");
    read_exactly(file, t->dl.data, bytes);
}

static double take_number(DLManagedTensorVersioned *from) {
    const DLTensor *t = &from->dl_tensor;
    const char *at = (const char *)t->data + t->byte_offset;
    double value = t->dtype.bits == 32 ? *(const float *)(const void *)at : *(const double *)(const void *)at;
    from->deleter(from);
    return value;
}

static void check(net_context *context, int code) {
    if (code == SCRIPTC_OK) return;
    fprintf(stderr, "%s: ", net_last_error(context)->type);
    fail(net_last_error(context)->message);
}

int main(int argc, char **argv) {
    char why[256];
    if (argc != 5) fail("usage: train WEIGHTS CALLS SEED SAVED");
    net_model *model = net_load(argv[1], why, sizeof why);
    if (!model) fail(why);
    net_context *context = net_context_new(model);
    net_state *state = net_state_new(model);
    FILE *calls = fopen(argv[2], "rb");
    if (!context || !state || !calls) fail("cannot begin");
    net_context_seed(context, strtoull(argv[3], NULL, 10));
    double sum = 0;
    int n = 0;
    for (int64_t letter; fread(&letter, sizeof letter, 1, calls) == 1;) {
        DLManagedTensorVersioned *loss;
        tensor x, y;
        if (letter == 't' || letter == 'e') {
            read_tensor(calls, &x);
            read_tensor(calls, &y);
        }
        if (letter == 't') {
            check(context, net_train(context, state, &x.dl, &y.dl, &loss));
            printf("train %.17g\n", take_number(loss));
        }
#ifdef EPOCHS
        if (letter == 'b') {
            check(context, net_begin(context, state));
            sum = n = 0;
        }
        if (letter == 'e') {
            check(context, net_evaluate(context, state, &x.dl, &y.dl, &loss));
            sum += take_number(loss);
            n++;
        }
        if (letter == 'f') {
            printf("validation %.17g\n", sum / n);
            check(context, net_finish(context, state, sum / n));
        }
#endif
        if (letter == 't' || letter == 'e') {
            free(x.dl.data);
            free(y.dl.data);
        }
    }
    (void)sum;
    (void)n;
    fclose(calls);
    if (!net_state_save(state, argv[4], why, sizeof why)) fail(why);
    net_state_free(state);
    net_context_free(context);
    net_free(model);
    return 0;
}

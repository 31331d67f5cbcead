/* Runs the RNN on five steps of ones, for a batch of two. */
#include <stdio.h>

#include "rnn.h"

enum { BATCH = 2, INPUTS = 16, STEPS = 5 };

int main(int argc, char **argv)
{
    char why[256];
    rnn_model *model = rnn_load(argc > 1 ? argv[1] : "rnn/rnn.safetensors", why, sizeof why);
    if (!model) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    rnn_context *context = rnn_context_new(model);

    float ones[BATCH * INPUTS];
    for (int i = 0; i < BATCH * INPUTS; i++) ones[i] = 1;
    DLTensor x = {.data = ones, .device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLFloat, 32, 1}, .shape = (int64_t[]){BATCH, INPUTS}};
    const DLTensor *xs[STEPS] = {&x, &x, &x, &x, &x};

    DLManagedTensorVersioned *h;
    if (context && rnn_forward(context, xs, STEPS, &h) == SCRIPTC_OK) {
        const DLTensor *t = &h->dl_tensor;
        printf("[%lld, %lld], first element %g\n", (long long)t->shape[0], (long long)t->shape[1], *(float *)t->data);
        h->deleter(h);
    } else if (context) {
        const scriptc_error *e = rnn_last_error(context);
        fprintf(stderr, "%s: %s\n%s\n", e->type, e->message, e->traceback);
    }
    rnn_context_free(context);
    rnn_free(model);
    return 0;
}

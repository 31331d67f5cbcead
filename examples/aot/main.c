/* Runs the RNN on five steps of ones, for a batch of two, and shows an error. */
#include <stdio.h>

#include "rnn.h"

enum { BATCH = 2, INPUTS = 16, STEPS = 5 };

int main(int argc, char **argv)
{
    char why[256];
    rnn_model *model = rnn_load(argc > 1 ? argv[1] : "rnn/rnn.safetensors", why, sizeof why);
    rnn_context *context = model ? rnn_context_new(model) : NULL;
    if (!context) {
        fprintf(stderr, "%s\n", model ? "no memory" : why);
        rnn_free(model);
        return 1;
    }

    float ones[BATCH * INPUTS];
    for (int i = 0; i < BATCH * INPUTS; i++) ones[i] = 1;
    DLTensor x = {.data = ones, .device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLFloat, 32, 1}, .shape = (int64_t[]){BATCH, INPUTS}};
    const DLTensor *xs[STEPS] = {&x, &x, &x, &x, &x};

    DLManagedTensorVersioned *h;
    int status = rnn_forward(context, xs, STEPS, &h);
    if (status == SCRIPTC_OK) {
        const DLTensor *t = &h->dl_tensor;
        printf("[%lld, %lld], first element %g\n", (long long)t->shape[0], (long long)t->shape[1], *(float *)t->data);
        h->deleter(h);
    } else {
        fprintf(stderr, "%s\n", rnn_last_error(context)->message);
    }

    if (rnn_forward(context, xs, 0, &h) == SCRIPTC_RAISED) { /* a list without steps */
        const scriptc_error *e = rnn_last_error(context);
        printf("%s: %s\n%s\n", e->type, e->message, e->traceback);
    }
    rnn_context_free(context);
    rnn_free(model);
    return status;
}

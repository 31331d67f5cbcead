/* Runs the post's networks without LibTorch and Python: hytorch PACKAGES IMAGES. Prints the first element of the hidden state
 * after three steps of ones, then the digit of each image in IMAGES, which holds 64 float32 pixels for each. */
#include <stdio.h>
#include <stdlib.h>

#include "digits.h"
#include "recurrent.h"

enum { BATCH = 2, INPUTS = 16, PIXELS = 64, MOST = 2000 };

static DLTensor matrix(float *data, int64_t *shape)
{
    return (DLTensor){.data = data, .device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLFloat, 32, 1}, .shape = shape};
}

static int run_recurrent(const char *weights)
{
    char why[256];
    recurrent_model *model = recurrent_load(weights, why, sizeof why);
    recurrent_context *context = model ? recurrent_context_new(model) : NULL;
    if (!context) {
        fprintf(stderr, "%s\n", model ? "no memory" : why);
        recurrent_free(model);
        return EXIT_FAILURE;
    }
    float ones[BATCH * INPUTS];
    for (int i = 0; i < BATCH * INPUTS; i++) ones[i] = 1;
    DLTensor x = matrix(ones, (int64_t[]){BATCH, INPUTS});
    const DLTensor *xs[] = {&x, &x, &x};
    DLManagedTensorVersioned *h;
    int status = recurrent_forward(context, xs, 3, &h);
    if (status == SCRIPTC_OK) {
        printf("%.7g\n", *(float *)h->dl_tensor.data);
        h->deleter(h);
    } else {
        fprintf(stderr, "%s\n", recurrent_last_error(context)->message);
    }
    recurrent_context_free(context);
    recurrent_free(model);
    return status;
}

static int classify(const char *weights, const char *images)
{
    static float pixels[MOST * PIXELS];
    char why[256];
    FILE *file = fopen(images, "rb");
    if (!file) {
        perror(images);
        return EXIT_FAILURE;
    }
    int64_t n = (int64_t)(fread(pixels, sizeof *pixels, sizeof pixels / sizeof *pixels, file) / PIXELS);
    fclose(file);
    digits_model *model = digits_load(weights, why, sizeof why);
    digits_context *context = model ? digits_context_new(model) : NULL;
    if (!context) {
        fprintf(stderr, "%s\n", model ? "no memory" : why);
        digits_free(model);
        return EXIT_FAILURE;
    }
    DLTensor x = matrix(pixels, (int64_t[]){n, PIXELS});
    DLManagedTensorVersioned *found;
    int status = digits_classify(context, &x, &found);
    if (status == SCRIPTC_OK) {
        for (int64_t i = 0; i < n; i++) printf("%d\n", (int)((int64_t *)found->dl_tensor.data)[i]);
        found->deleter(found);
    } else {
        fprintf(stderr, "%s\n", digits_last_error(context)->message);
    }
    digits_context_free(context);
    digits_free(model);
    return status;
}

int main(int argc, char **argv)
{
    char path[2][4096];
    if (argc != 3) {
        fprintf(stderr, "usage: hytorch PACKAGES IMAGES\n");
        return EXIT_FAILURE;
    }
    snprintf(path[0], sizeof path[0], "%s/recurrent/recurrent.safetensors", argv[1]);
    snprintf(path[1], sizeof path[1], "%s/digits/digits.safetensors", argv[1]);
    int status = run_recurrent(path[0]);
    return status ? status : classify(path[1], argv[2]);
}

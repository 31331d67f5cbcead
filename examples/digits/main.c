/* Classifies images of digits: classify WEIGHTS IMAGES. IMAGES holds float32 pixels, 64 for each image. Prints a digit a line. */
#include <stdio.h>
#include <stdlib.h>

#include "digits.h"

enum { PIXELS = 64, MOST = 2000 };

int main(int argc, char **argv) {
    static float pixels[MOST * PIXELS];
    char why[256] = "usage: classify WEIGHTS IMAGES";
    FILE *file = argc == 3 ? fopen(argv[2], "rb") : NULL;
    digits_model *model = file ? digits_load(argv[1], why, sizeof why) : NULL;
    digits_context *context = digits_context_new(model);
    if (!context) {
        fprintf(stderr, "%s\n", why);
        return EXIT_FAILURE;
    }
    int64_t n = (int64_t)(fread(pixels, sizeof *pixels, sizeof pixels / sizeof *pixels, file) / PIXELS);
    DLTensor x = {.data = pixels, .device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLFloat, 32, 1}, .shape = (int64_t[]){n, PIXELS}};
    DLManagedTensorVersioned *found;
    int status = digits_classify(context, &x, &found);
    if (status == SCRIPTC_OK) {
        for (int64_t i = 0; i < n; i++) printf("%d\n", (int)((int64_t *)found->dl_tensor.data)[i]);
        found->deleter(found);
    } else fprintf(stderr, "%s\n", digits_last_error(context)->message);
    digits_context_free(context);
    digits_free(model);
    fclose(file);
    return status;
}

/* generate.c - a program that generates token ids with a package that scriptc built, without Python.
 *
 *     program WEIGHTS ID ID ...
 *
 * For each line of standard input it generates once, and prints the seconds and the token ids of the result. */
#include "generate.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    char why[256];
    int64_t ids[1024], shape[2] = {1, argc - 2};
    if (argc < 3 || argc - 2 > 1024)
        return fprintf(stderr, "usage: %s WEIGHTS ID ID ...\n", argv[0]), 2;
    for (int i = 2; i < argc; i++)
        ids[i - 2] = atoll(argv[i]);
    generate_model *model = generate_load(argv[1], why, sizeof why);
    if (!model)
        return fprintf(stderr, "%s\n", why), 1;
    generate_context *context = generate_context_new(model);
    DLTensor prompt = {.data = ids, .device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLInt, 64, 1}, .shape = shape};
    for (char line[8]; fgets(line, sizeof line, stdin);) {
        DLManagedTensorVersioned *result;
        double start = now();
        if (generate_forward(context, &prompt, &result))
            return fprintf(stderr, "%s\n", generate_last_error(context)->message), 1;
        printf("%.9f", now() - start);
        const DLTensor *made = &result->dl_tensor;
        const int64_t *tokens = (const int64_t *)((const char *)made->data + made->byte_offset);
        for (int64_t i = 0; i < made->shape[1]; i++)
            printf(" %lld", (long long)tokens[i]);
        puts("");
        fflush(stdout);
        result->deleter(result);
    }
    generate_context_free(context);
    generate_free(model);
    return 0;
}

/* Checks the functions of scriptc_th.h on tensors that it makes itself. */
#include "sc_extension.h"

#undef NDEBUG
#include <assert.h>

static void check(void) {
    THFloatTensor *a = THFloatTensor_newWithSize2d(2, 3), *r = THFloatTensor_new();
    for (int i = 0; i < 6; i++) THFloatTensor_set2d(a, i / 3, i % 3, (float)i);
    THFloatTensor_cadd(r, a, 10, a);
    assert(r->ndim == 2 && THFloatTensor_get2d(r, 1, 2) == 55 && THFloatTensor_isSameSizeAs(r, a));

    int64_t sizes[] = {3, 2}, strides[] = {1, 3}; /* a, transposed */
    DLTensor t = *a;
    sc_tensor_handle view = {.tensor = t};
    view.tensor.shape = sizes;
    view.tensor.strides = strides;
    view.references = 1;
    THFloatTensor *b = THFloatTensor_newContiguous(&view.tensor), *same = THFloatTensor_newContiguous(b);
    assert(b != &view.tensor && same == b && THFloatTensor_get2d(b, 2, 1) == 5 && THFloatTensor_data(b)[1] == 3);
    THFloatTensor_free(same);
    THFloatTensor_cmul(r, b, &view.tensor);
    assert(r->shape[0] == 3 && THFloatTensor_get2d(r, 2, 1) == 25);
    THFloatTensor_div(&view.tensor, &view.tensor, 2);
    assert(THFloatTensor_get2d(a, 1, 2) == 2.5f && !THFloatTensor_isContiguous(&view.tensor));
    assert(THFloatTensor_sumall(a) == 7.5 && THFloatTensor_maxall(&view.tensor) == 2.5f && THFloatTensor_minall(a) == 0);
    THFloatTensor_csub(r, b, 1, b);
    assert(THFloatTensor_dot(r, b) == 0);
    THFloatTensor_resize4d(r, 1, 2, 3, 4);
    THFloatTensor_fill(r, 1);
    assert(THFloatTensor_sumall(r) == 24 && THFloatTensor_nElement(r) == 24 && THFloatTensor_stride(r, 0) == 24);
    THFloatTensor_resize1d(r, 0);
    THFloatTensor_zero(r);
    assert(THFloatTensor_sumall(r) == 0);
    THFloatTensor_free(a), THFloatTensor_free(b), THFloatTensor_free(r);

    THLongTensor *n = THLongTensor_newWithSize1d(2), *m = THLongTensor_newWithSize1d(2);
    THLongTensor_fill(n, INT64_MAX);
    THLongTensor_add(n, n, 1);
    assert(THLongTensor_get1d(n, 0) == INT64_MIN);
    THLongTensor_div(m, n, -1);
    assert(THLongTensor_get1d(m, 1) == INT64_MIN);
    THLongTensor_mul(m, n, 3), THLongTensor_csub(m, m, 3, n), THLongTensor_sub(m, m, 1);
    assert(THLongTensor_sumall(m) == -2);
    THLongTensor_free(n), THLongTensor_free(m);
    THByteTensor *bytes = THByteTensor_newWithSize3d(1, 2, 2), *copy = THByteTensor_newClone(bytes);
    THByteTensor_fill(bytes, 200), THByteTensor_copy(copy, bytes), THByteTensor_cadd(copy, copy, 1, bytes);
    assert(THByteTensor_data(copy)[3] == 144 && THByteTensor_sumall(copy) == 4 * 144);
    THByteTensor_free(bytes), THByteTensor_free(copy);
    THFree(THAlloc(0));
}

static void fail(int how) {
    static int64_t sizes[] = {2}, strides[] = {1};
    static double data[2];
    sc_tensor_handle x = {.tensor = {.data = data, .ndim = 1, .dtype = {kDLFloat, 64, 1}, .shape = sizes, .strides = strides}};
    switch (how) {
    case 0: THDoubleTensor_size(&x.tensor, 1); break;
    case 1: THDoubleTensor_resize1d(&x.tensor, 3); break;
    case 2: THDoubleTensor_resize2d(&x.tensor, INT64_MAX, INT64_MAX); break;
    case 3: THDoubleTensor_get1d(&x.tensor, 2); break;
    case 4: THDoubleTensor_newWithSize1d(-1); break;
    case 5: THDoubleTensor_resize1d(&x.tensor, INT64_MIN); break;
    case 6: THAlloc(-1); break;
    }
}

int main(void) {
    static const char *const messages[] = {
        "invalid argument 2: dimension 1 out of range of 1D tensor", "a tensor that is passed as const cannot be resized",
        "cannot resize a tensor to sizes whose product is over 64 bits", "invalid argument 2: out of range",
        "cannot resize a tensor to the negative size -1",
        "cannot resize a tensor to the negative size -9223372036854775808",
        "$ Torch: invalid memory size -- maybe an overflow?"};
    sc_extension_error error;
    sc_extension_call call;
    sc_extension_begin(&call, &error);
    assert(!_setjmp(call.leave));
    check();
    assert(sc_extension_end(&call) == 0);
    for (volatile int how = 0; how < 7; how++) {
        sc_extension_begin(&call, &error);
        if (!_setjmp(call.leave)) {
            fail(how);
            assert(!"does not return");
        }
        assert(sc_extension_end(&call) == -1 && !strcmp(error.type, "RuntimeError"));
        if (strcmp(error.message, messages[how])) fprintf(stderr, "%d: %s\n", how, error.message);
        assert(!strcmp(error.message, messages[how]));
    }
    sc_extension_begin(&call, &error); /* a message is cut between characters */
    char text[3000];
    for (size_t i = 0; i + 2 < sizeof text; i += 2) memcpy(text + i, "\xc3\xa9", 3);
    sc_fail("x%s", text + (sizeof text % 2 ? 1 : 0));
    assert(sc_extension_end(&call) == -1 && strlen(error.message) == 1023);
    puts("ok");
    return 0;
}

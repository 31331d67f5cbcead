/* @{name}_test.c - replays recorded calls through @{name}.h. Made by scriptc.
 *
 *     @{name}_test pairs WEIGHTS PAIR...   compares results with the recorded ones
 *     @{name}_test errors WEIGHTS PAIR     wrong arguments and damaged weights must give clear errors
 *
 * Exit code 77: the level that SC_FORCE_LEVEL names is not this machine's. */
#include "pair.h"
#include "@{name}.h"

static int failures;

#if @{has_state}
static @{name}_state *state; /* the state of the recorded sequence of calls */
#endif

@{functions}
static const struct {
    const char *name;
    int (*call)(@{name}_context *context, const pair_value *values, comparison *c);
} entries[] = {
@{table}
};

static void print_arguments(const pair *p)
{
    for (int64_t i = 0; i < p->n_arguments; i++) {
        printf("%s", i ? ", " : "");
        pair_print_value(&p->values[i]);
    }
}

#if @{has_state}
/* Check that a saved state, loaded and saved again, gives the same file. */
static void check_saved(@{name}_model *model)
{
    char path[80], why[512] = "";
    size_t n[2] = {0};
    char *files[2] = {NULL};
    @{name}_state *twin = @{name}_state_new(model);
    snprintf(path, sizeof path, "@{name}-state-%s.tmp", getenv("SC_FORCE_LEVEL") ? getenv("SC_FORCE_LEVEL") : "any");
    bool ok = twin && @{name}_state_save(state, path, why, sizeof why);
    if (ok) files[0] = pair_slurp(path, &n[0]);
    ok = ok && @{name}_state_load(twin, path, why, sizeof why) && @{name}_state_save(twin, path, why, sizeof why);
    if (ok) files[1] = pair_slurp(path, &n[1]);
    ok = ok && n[0] == n[1] && !memcmp(files[0], files[1], n[0]);
    if (!ok) printf("the saved state: FAILED %s\n", why);
    failures += !ok;
    remove(path);
    free(files[0]);
    free(files[1]);
    @{name}_state_free(twin);
}
#endif

/* Replace the state by a copy. The next calls must give the same results as with the original. */
static void exchange_state(@{name}_model *model)
{
#if @{has_state}
    @{name}_state *twin = @{name}_state_new(model);
    if (!twin || !@{name}_state_copy(twin, state)) pair_die("out of memory");
    check_saved(model);
    @{name}_state_free(state);
    state = twin;
#else
    (void)model;
#endif
}

static bool reset_state(void)
{
#if @{has_state}
    if (!@{name}_state_reset(state)) pair_die("out of memory");
    return true;
#else
    return false;
#endif
}

static bool replay(@{name}_context *context, const char *path)
{
    pair p = pair_read(path);
    @{name}_context_seed(context, 0); /* the seed of the recording */
    comparison c = {0};
    const char *file = strrchr(path, '/');
    printf("%s %s(", file ? file + 1 : path, entries[p.entry].name);
    print_arguments(&p);
    printf("): ");
    int code = entries[p.entry].call(context, p.values, &c);
    if (code) {
        const scriptc_error *e = @{name}_last_error(context);
        printf("FAILED: %s: %s\n%s\n", e->type, e->message, e->traceback);
    } else {
        printf("%s, max abs %.3g, max rel %.3g\n", c.failures ? "not equal" : "ok", c.worst_abs, c.worst_rel);
    }
    pair_free(&p);
    return !code && !c.failures;
}

/* ---- error cases ---- */

static void expect(bool ok, const char *what, const char *message)
{
    printf("%s: %s%s%s\n", what, ok ? "ok" : "FAILED", *message ? ", " : "", message);
    failures += !ok;
}

static void expect_refusal(@{name}_context *context, const pair *p, const char *what)
{
    comparison c = {0};
    int code = entries[p->entry].call(context, p->values, &c);
    const scriptc_error *e = @{name}_last_error(context);
    expect(code == SCRIPTC_BAD_ARGUMENT && *e->type && *e->message, what, e->message);
}

/* Check that each argument tensor in turn is refused if it is NULL, of another device, dtype or rank, and so on. */
static void check_arguments(@{name}_context *context, pair *p)
{
    for (int64_t i = 0; i < p->n_arguments; i++) {
        pair_value *v = &p->values[i], *item = v->tag == PAIR_LIST && v->n ? v->items : v;
        if (item->tag != PAIR_TENSOR) continue;
        const DLTensor **slot = item == v ? &v->tensor : &v->tensors[0];
        DLTensor good = item->storage;
        int64_t more[32] = {0}, negative[32] = {0};
        negative[0] = -1;

        *slot = NULL;
        expect_refusal(context, p, "a tensor that is NULL");
        *slot = &item->storage;
        item->storage.dtype = (DLDataType){kDLComplex, 32, 1};
        expect_refusal(context, p, "a complex tensor of half precision");
        item->storage.dtype = (DLDataType){good.dtype.code == kDLInt ? kDLUInt : kDLInt, good.dtype.bits, 1};
        expect_refusal(context, p, "another dtype");
        item->storage = good;
        item->storage.ndim++;
        item->storage.shape = more;
        expect_refusal(context, p, "another rank");
        item->storage = good;
        memcpy(&item->storage.device, &(int32_t){2}, sizeof(int32_t)); /* CUDA's number */
        expect_refusal(context, p, "another device");
        item->storage = good;
        if (good.ndim > 0) {
            item->storage.shape = negative;
            expect_refusal(context, p, "a negative size");
            item->storage = good;
        }
        if (pair_numel(&good) > 0) {
            item->storage.data = NULL;
            expect_refusal(context, p, "data that is NULL");
            item->storage = good;
        }
        comparison c = {0};
        reset_state();
        @{name}_context_seed(context, 0);
        expect(!entries[p->entry].call(context, p->values, &c) && !c.failures, "the right arguments again", "");
    }
}

#if @{has_state} || @{has_weights_file}
static void write_file(const char *path, const char *data, size_t n)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, n, f) != n || fclose(f)) pair_die("cannot write a file for a test");
}
#endif

#if @{has_state}
static void check_states(void)
{
    char why[512] = "", path[80];
    size_t n;
    snprintf(path, sizeof path, "@{name}-damaged-state-%s.tmp", getenv("SC_FORCE_LEVEL") ? getenv("SC_FORCE_LEVEL") : "any");
    if (!@{name}_state_save(state, path, why, sizeof why)) pair_die(why);
    char *good = pair_slurp(path, &n), *bad = pair_alloc(n, 1);
    expect(!@{name}_state_load(state, "no-such-file", why, sizeof why), "a state that is missing", why);
    bool all = true;
    for (size_t i = 0; i < 40; i++) { /* the file, cut off at 40 positions */
        write_file(path, good, n * i / 40);
        all &= !@{name}_state_load(state, path, why, sizeof why);
    }
    expect(all, "a state that is cut off", why);
    for (size_t i = 0; i < n; i += 1 + n / 600) { /* a flipped bit must not crash */
        memcpy(bad, good, n);
        bad[i] ^= (char)(1 << i % 8);
        write_file(path, bad, n);
        @{name}_state_load(state, path, why, sizeof why);
    }
    memcpy(bad, good, n);
    bad[n - 1] ^= 1;
    write_file(path, bad, n);
    expect(!@{name}_state_load(state, path, why, sizeof why), "a state with a flipped bit", why);
    write_file(path, good, n);
    expect(@{name}_state_load(state, path, why, sizeof why), "the state as it was saved", "");
    remove(path);
    free(good);
    free(bad);
}
#endif

#if @{has_weights_file}
static bool refused(const char *path, char *why, size_t n)
{
    @{name}_model *model = @{name}_load(path, why, n);
    @{name}_free(model);
    return !model && *why;
}

static void check_weights(const char *weights)
{
    char why[512] = "", path[64];
    size_t n;
    snprintf(path, sizeof path, "@{name}-damaged-%s.tmp", getenv("SC_FORCE_LEVEL") ? getenv("SC_FORCE_LEVEL") : "any");
    char *good = pair_slurp(weights, &n), *bad = pair_alloc(n, 1);
    expect(refused("no-such-file", why, sizeof why), "weights that are missing", why);
    expect(refused(NULL, why, sizeof why), "no path", why);
    uint64_t header;
    memcpy(&header, good, 8);

    bool all = true;
    for (size_t i = 0; i < 40; i++) { /* the file, cut off at 40 positions */
        write_file(path, good, n * i / 40);
        all &= refused(path, why, sizeof why);
    }
    expect(all, "weights that are cut off", why);
    all = true;
    for (size_t i = 0; i < 40 && n > 8 + header; i++) { /* a flipped bit in the data */
        memcpy(bad, good, n);
        bad[8 + header + (n - 8 - header - 1) * i / 39] ^= (char)(1 << i % 8);
        write_file(path, bad, n);
        all &= refused(path, why, sizeof why);
    }
    expect(all, "weights with a flipped bit", why);
    for (size_t i = 0; i < 8 + header; i += 1 + header / 300) { /* a flip in the header must not crash */
        memcpy(bad, good, n);
        bad[i] ^= (char)(1 << i % 8);
        write_file(path, bad, n);
        refused(path, why, sizeof why);
    }
    memcpy(bad, good, n);
    bad[9] = bad[10] = '}';
    write_file(path, bad, n);
    expect(refused(path, why, sizeof why), "a damaged header", why);
    remove(path);
    free(good);
    free(bad);
}
#endif

int main(int argc, char **argv)
{
    const char *forced = getenv("SC_FORCE_LEVEL");
    char why[512];
    if (argc < 4) pair_die("usage: @{name}_test pairs|errors WEIGHTS PAIR...");
    if (forced && *forced && !@{name}_machine_has(forced)) return 77;
    @{name}_model *model = @{name}_load(argv[2], why, sizeof why);
    if (!model) pair_die(why);
    @{name}_context *context = @{name}_context_new(model);
    if (!context) pair_die("out of memory");
#if @{has_state}
    if (!(state = @{name}_state_new(model))) pair_die("out of memory");
#endif
    printf("level %s\n", @{name}_level(model));
    if (!strcmp(argv[1], "errors")) {
        pair p = pair_read(argv[3]);
        check_arguments(context, &p);
        pair_free(&p);
#if @{has_state}
        check_states();
#endif
#if @{has_weights_file}
        check_weights(argv[2]);
#endif
    } else {
        for (int i = 3; i < argc; i++) {
            @{name}_context_set_threads(context, 1 + i % 3); /* results do not depend on the number of threads */
            failures += !replay(context, argv[i]);
        }
        if (reset_state()) /* the sequence again, with the state replaced between calls */
            for (int i = 3; i < argc; i++, exchange_state(model)) failures += !replay(context, argv[i]);
        printf("%d of %d equal\n", argc - 3 - failures, argc - 3);
    }
    @{name}_context_free(context);
#if @{has_state}
    @{name}_state_free(state);
#endif
    @{name}_free(model);
    return failures != 0;
}

/* sc_model.c - loading a package's model, and one call of it from C. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sc_package.h"

/* ---- ISA levels ---- */

bool sc_machine_has(const char *level) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!strcmp(level, "avx2")) /* every CPU with AVX2 and FMA has F16C, which older compilers cannot test for */
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (!strcmp(level, "avx512"))
        return __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#endif
    return !strcmp(level, "baseline") || !strcmp(level, "native");
}

static const sc_level *choose_level(const sc_package *p, sc_text error) {
    const char *forced = getenv("SC_FORCE_LEVEL");
    for (int i = p->n_levels; i-- > 0;) {
        const sc_level *level = &p->levels[i];
        if (!forced || !*forced) {
            if (sc_machine_has(level->name)) return level;
        } else if (!strcmp(forced, level->name)) {
            if (sc_machine_has(forced)) return level;
            sc_tell(error, "SC_FORCE_LEVEL=%s: this machine does not have that level", forced);
            return NULL;
        }
    }
    sc_tell(error, forced ? "SC_FORCE_LEVEL=%s: no such level in this build" : "no level of this build runs here", forced);
    return NULL;
}

/* ---- models ---- */

static int fill(sc_model *m, const char *path, sc_text error) {
    const sc_package *p = m->package;
    const sc_level *level = choose_level(p, error);
    if (!level) return -1;
    m->program = level->program();
    if (m->program->abi != SC_ABI_VERSION)
        return sc_tell(error, "the program has ABI %d, the runtime %d", m->program->abi, SC_ABI_VERSION);
    if (p->embedded) return sc_weights_read(&m->weights, p, p->embedded, p->embedded_bytes, error);
    if (p->n_weights == 0) return 0;
    if (!path) return sc_tell(error, "no path of weights was given");
    return sc_weights_open(&m->weights, p, path, error);
}

sc_model *sc_model_load(const sc_package *package, const char *path, char *error, size_t error_size) {
    sc_text text = {error, error_size};
    sc_model *m = calloc(1, sizeof *m);
    if (!m) {
        sc_tell(text, "out of memory");
        return NULL;
    }
    m->package = package;
    sc_tell(text, "%s", "");
    if (!(m->team = sc_team_new())) sc_tell(text, "out of memory");
    else if (!fill(m, path, text)) return m;
    sc_model_free(m);
    return NULL;
}

void sc_model_free(sc_model *m) {
    if (!m) return;
    sc_team_free(m->team);
    sc_weights_close(&m->weights);
    free(m);
}

/* ---- contexts ---- */

static void on_print(void *user, const char *text, size_t nbytes) {
    const scriptc_output *to = &((sc_caller *)user)->output;
    if (to->print) to->print(to->user, text);
    else fwrite(text, 1, nbytes, stdout);
}

static void on_warn(void *user, const char *category, const char *message, const sc_loc *where) {
    const scriptc_output *to = &((sc_caller *)user)->output;
    const char *file = where ? where->file : "<unknown>";
    int line = where ? where->line : 0;
    if (to->warn) to->warn(to->user, category, message, file, line);
    else fprintf(stderr, "%s:%d: %s: %s\n", file, line, category, message);
}

static const char cancelled[] = "cancelled";

static int on_stop(sc_ctx *cx) {
    sc_caller *c = cx->user;
    if (__atomic_exchange_n(&cx->stop, 0, __ATOMIC_RELAXED) != SC_ASKED_TO_CHECK)
        return sc_raise(cx, "KeyboardInterrupt", "%s", cancelled);
    const char *raised = c->check ? c->check(c->check_user) : NULL;
    return raised ? sc_raise(cx, raised, "%s", "") : 0;
}

/* Weights are seldom read again after they were prepared, so their pages are released. Those that are read are mapped again. */
static void on_keep(sc_ctx *cx, size_t nbytes) {
    sc_caller *c = cx->user;
    c->prepared += nbytes;
    if (c->prepared < SC_RELEASED_BYTES) return;
    c->prepared = 0;
    sc_weights_release(&c->model->weights);
}

sc_caller *sc_caller_new(const sc_model *model) {
    sc_caller *c = calloc(1, sizeof *c);
    if (!c || !(c->cx = sc_ctx_new(NULL))) {
        free(c);
        return NULL;
    }
    c->model = model;
    c->cx->user = c;
    c->cx->team = model->team;
    c->cx->print = on_print;
    c->cx->on_stop = on_stop;
    c->cx->on_keep = on_keep;
    c->cx->warn = on_warn;
    sc_caller_seed(c, 67280421310721); /* torch's default seed */
    c->error = (scriptc_error){.type = "", .message = "", .traceback = ""};
    return c;
}

static void seed_twister(sc_rng *g, uint64_t seed) {
    *g = (sc_rng){.seed = seed, .left = 1, .seeded = 1};
    g->state[0] = seed & 0xffffffffu;
    for (uint32_t i = 1; i < 624; i++) {
        uint64_t last = g->state[i - 1];
        g->state[i] = (1812433253u * (last ^ last >> 30) + i) & 0xffffffffu;
    }
}

/* Seed a generator as random.seed does, by the words of the seed (init_by_array in Makoto Matsumoto's mt19937ar.c). */
static void seed_by_words(sc_rng *g, uint64_t seed) {
    uint64_t *s = g->state, key[] = {seed & 0xffffffffu, seed >> 32};
    int n = key[1] ? 2 : 1, i = 1;
    seed_twister(g, 19650218u);
    for (int k = 0; k < 624; k++) {
        s[i] = ((s[i] ^ (s[i - 1] ^ s[i - 1] >> 30) * 1664525u) + key[k % n] + (uint64_t)(k % n)) & 0xffffffffu;
        if (++i == 624) s[0] = s[623], i = 1;
    }
    for (int k = 0; k < 623; k++) {
        s[i] = ((s[i] ^ (s[i - 1] ^ s[i - 1] >> 30) * 1566083941u) - (uint64_t)i) & 0xffffffffu;
        if (++i == 624) s[0] = s[623], i = 1;
    }
    s[0] = 0x80000000u;
}

void sc_caller_seed(sc_caller *c, uint64_t seed) {
    seed_twister(&c->rng, seed);
    seed_by_words(&c->python_rng, seed);
    seed_twister(&c->numpy_rng, seed);
    c->cx->rng = &c->rng;
    c->cx->numpy_rng = &c->numpy_rng;
    c->cx->python_rng = &c->python_rng;
}

void sc_caller_free(sc_caller *c) {
    if (!c) return;
    sc_ctx_free(c->cx);
    free(c);
}

/* ---- calls ---- */

void sc_call_cancel(sc_caller *c) {
    __atomic_store_n(&c->cx->stop, SC_CANCELLED, __ATOMIC_RELAXED);
}

/* Request a check, unless a cancellation is pending. */
void sc_call_request_check(sc_caller *c) {
    int none = 0;
    __atomic_compare_exchange_n(&c->cx->stop, &none, SC_ASKED_TO_CHECK, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void sc_call_begin(sc_caller *c) {
    sc_error *e = &c->cx->error;
    e->type[0] = e->message[0] = 0;
    e->loc = -1;
    c->cx->bytes_peak = c->cx->bytes_live;
    c->cx->unhelped = 0;
    __atomic_store_n(&c->cx->stop, 0, __ATOMIC_RELAXED);
}

static int take_weights(sc_caller *c, sc_value *args) {
    const sc_model *m = c->model;
    for (int i = 0; i < m->package->n_params; i++) {
        const sc_weight *w = &m->package->weights[i];
        int64_t stride[SC_MAX_RANK], count = 1;
        for (int d = w->rank; d-- > 0; count *= w->size[d]) stride[d] = count;
        args[i].t = sc_from_external(c->cx, m->weights.data[i], (size_t)count * sc_dtype_size(w->dtype), w->dtype, w->rank,
                                     w->size, stride, SC_READONLY, -1, NULL);
        if (!args[i].t) return -1;
    }
    return 0;
}

/* Raise if the call changed a list of the caller: this boundary cannot pass such changes back, as eager would. */
static int check_lists(sc_ctx *cx) {
    for (const sc_obj *o = cx->live.next; o != &cx->live; o = o->next) {
        const sc_list *l = (const sc_list *)o;
        if (o->kind == SC_LIST && l->owner && l->written)
            return sc_raise(cx, "NotImplementedError",
                            "the code changes the argument list '%s', which C cannot give back: return a new list",
                            (const char *)l->owner);
    }
    return 0;
}

/* Save the state that the call has assigned, even if the call failed. The first error is kept. */
static int keep_state(sc_caller *c, int r, const sc_uses *uses, const sc_value *args) {
    sc_error first = c->cx->error;
    int kept = c->state ? sc_state_keep(c->state, uses, c->cx, args) : 0;
    if (r) c->cx->error = first;
    return r || kept ? -1 : 0;
}

int sc_call_run(sc_caller *c, int entry, int n, sc_state *state, sc_value *args, sc_value *results) {
    const sc_uses *uses = state ? &c->model->package->uses[entry] : NULL;
    c->state = state;
    if ((state && sc_state_take(state, uses, c->cx, args + n)) || take_weights(c, args + n + (uses ? uses->n : 0))) {
        c->state = NULL;
        return -1;
    }
    int r = c->model->program->entries[entry].call(c->cx, args, results);
    return keep_state(c, r, uses, args + n) ? -1 : check_lists(c->cx);
}

/* Write the lines of the error, outermost first. Rows of locations lead from the raising line to its callers. */
static void write_traceback(sc_caller *c, const sc_program *p, int at) {
    int chain[64], n = 0;
    size_t used = 0;
    for (; at >= 0 && at < p->n_locs && n < 64; at = p->locs[at].inlined_at) chain[n++] = at;
    while (n-- > 0 && used < sizeof c->traceback - 1) {
        const sc_loc *l = &p->locs[chain[n]];
        int length = snprintf(c->traceback + used, sizeof c->traceback - used, "%s  at %s:%d in %s: %s", used ? "\n" : "",
                              l->file, l->line, l->function, l->text);
        used += length > 0 ? (size_t)length : 0;
    }
}

int sc_call_end(sc_caller *c, int code) {
    sc_ctx *cx = c->cx;
    const sc_program *p = c->model->program;
    c->traceback[0] = 0;
    c->error = (scriptc_error){.type = "", .message = "", .traceback = c->traceback};
    if (code == SCRIPTC_RAISED && !strcmp(cx->error.type, "KeyboardInterrupt") && !strcmp(cx->error.message, cancelled))
        code = SCRIPTC_CANCELLED;
    if (code) {
        c->error.type = cx->error.type;
        c->error.message = cx->error.message;
        int at = cx->error.loc;
        if (at >= 0 && at < p->n_locs) {
            const sc_loc *l = &p->locs[c->model->package->user_rows[at]];
            c->error.file = l->file;
            c->error.function = l->function;
            c->error.text = l->text;
            c->error.line = l->line;
            write_traceback(c, p, at);
        }
    }
    if (c->prepared) sc_weights_release(&c->model->weights);
    c->prepared = 0;
    if (c->state) sc_state_settle(c->state);
    c->state = NULL;
    size_t peak = cx->bytes_peak;
    sc_ctx_unwind(cx);
    sc_ctx_trim(cx, peak);
    return code;
}

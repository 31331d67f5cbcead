/* execute.c - runs a matched entry: releases the GIL when that pays, turns errors into exceptions, hands out results. */
#include "bridge.h"
#include "sc_fp.h"
#include "sc_profile.h"

#include <time.h>

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

PyObject *raised_now(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback)
        PyException_SetTraceback(value, traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return value;
}

static void raise_object(PyObject *exception)
{
    PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_DECREF(exception);
}

/* Take the GIL and set the caller's floating point mode, so that a running entry can call Python. Return the entry's
 * mode. */
uint64_t enter_python(frame *f)
{
    uint64_t mode = sc_fp_mode();
    sc_fp_set(f->fp_mode);
    if (f->saved)
        PyEval_RestoreThread(f->saved);
    return mode;
}

void leave_python(frame *f, uint64_t mode)
{
    if (f->saved)
        f->saved = PyEval_SaveThread();
    sc_fp_set(mode);
}

/* Call a Python function for the running entry, with arguments that Py_BuildValue makes from the format. After an
 * exception, further calls do nothing, since eager would not have produced the rest of the output either. */
static void tell(frame *f, PyObject *function, const char *format, ...)
{
    va_list values;
    if (f->raised)
        return;
    uint64_t mode = enter_python(f);
    va_start(values, format);
    PyObject *args = Py_VaBuildValue(format, values);
    va_end(values);
    PyObject *done = args ? PyObject_CallObject(function, args) : NULL;
    if (!done)
        f->raised = raised_now();
    Py_XDECREF(args);
    Py_XDECREF(done);
    leave_python(f, mode);
}

/* Return the file name of a location as a Python str, or None where there is no location. */
static PyObject *file_of(void *p)
{
    const sc_loc *where = p;
    if (!where)
        Py_RETURN_NONE;
    return PyUnicode_DecodeFSDefault(where->file);
}

static void on_warn(void *user, const char *category, const char *message, const sc_loc *where)
{
    frame *f = user;
    tell(f, f->owner->host.warn, "(ssO&i)", category, message, file_of, where, where ? where->line : 0);
}

typedef struct printed { const char *text; size_t nbytes; } printed;

static PyObject *text_of(void *p)
{
    const printed *t = p;
    return PyUnicode_DecodeUTF8(t->text, (Py_ssize_t)t->nbytes, "surrogatepass");
}

static void on_print(void *user, const char *text, size_t nbytes)
{
    frame *f = user;
    tell(f, f->owner->host.print, "(O&)", text_of, &(printed){text, nbytes});
}

static uint32_t on_python_word(void *user)
{
    frame *f = user;
    uint32_t word = 0;
    if (f->raised)
        return word;
    uint64_t mode = enter_python(f);
    PyObject *made = PyObject_CallNoArgs(f->owner->host.python_word);
    if (made)
        word = (uint32_t)PyLong_AsUnsignedLong(made);
    if (PyErr_Occurred())
        f->raised = raised_now();
    Py_XDECREF(made);
    leave_python(f, mode);
    return word;
}

/* Lend the call the state of NumPy's generator, where the call draws from it first. */
static sc_rng *on_lend_numpy(void *user)
{
    frame *f = user;
    unsigned long long address = 0;
    PyObject *state;
    if (f->raised)
        return NULL;
    uint64_t mode = enter_python(f);
    PyObject *pair = PyObject_CallNoArgs(f->owner->host.numpy_begin);
    if (pair && PyArg_ParseTuple(pair, "OK", &state, &address))
        f->numpy_state = Py_NewRef(state);
    else
        f->raised = raised_now();
    Py_XDECREF(pair);
    leave_python(f, mode);
    return (sc_rng *)(uintptr_t)address;
}

static int ask_torch_for_threads(const host *h)
{
    PyObject *threads = PyObject_CallNoArgs(h->num_threads);
    int n = threads ? (int)PyLong_AsLong(threads) : 1;
    Py_XDECREF(threads);
    if (!threads || n < 0)
        PyErr_Clear();
    return n;
}

/* Return torch.get_num_threads(). That is what OpenMP answers, once torch has set the number for a new thread. */
static int count_threads(const host *h)
{
    static _Thread_local bool is_set;
    int n = is_set ? openmp_threads() : 0;
    is_set = true;
    return n > 0 ? n : ask_torch_for_threads(h);
}

bool is_short(const variant *v) { return v->seconds <= WORTH_RELEASING + v->n_taken * WORTH_SHARING; }

static int run_entry(frame *f, variant *v)
{
    sc_ctx *cx = f->cx;
    cx->num_threads = count_threads(&f->owner->host);
    cx->error.type[0] = cx->error.message[0] = 0, cx->error.loc = -1;
    cx->bytes_peak = cx->bytes_live, cx->asked_peak = cx->asked_live;
    cx->depth = 0, cx->hides_write = false;
    cx->warn = on_warn, cx->print = on_print, cx->python_word = on_python_word, cx->user = f;
    cx->lend_numpy = on_lend_numpy;
    cx->locs = v->program->locs;
    cx->team = f->owner->team, cx->unhelped = 0;
    cx->profile = f->owner->profile;
    f->fp_mode = sc_fp_mode();
    openmp_start_in(f->fp_mode);
    double start = seconds_now();
    interrupt_begin(f, start);
    bool release = !is_short(v) && !f->lent;
    if (release)
        f->saved = PyEval_SaveThread();
    int r = v->entry->call(cx, f->args, f->results);
    double seconds = seconds_now() - start;
    if (cx->profile)
        sc_profile_at(cx, -1);
    if (release) {
        PyEval_RestoreThread(f->saved);
        f->saved = NULL;
    }
    interrupt_end(f);
    v->seconds = f->owner->seconds = seconds;
    v->n_taken = f->n_held;
    f->owner->peak = cx->bytes_peak, f->owner->asked = cx->asked_peak;
    return r;
}

/* Return (file, line, function, text) of a location and of the calls that it was inlined through, innermost first. */
static PyObject *rows_of(const sc_program *p, int loc)
{
    PyObject *rows = PyList_New(0);
    for (int left = p->n_locs; rows && left > 0 && loc >= 0 && loc < p->n_locs; left--) {
        const sc_loc *l = &p->locs[loc];
        PyObject *row = Py_BuildValue("(O&iss)", file_of, l, l->line, l->function, l->text);
        if (!row || PyList_Append(rows, row) < 0)
            Py_CLEAR(rows);
        Py_XDECREF(row);
        loc = l->inlined_at;
    }
    return rows;
}

static PyObject *error_object(const frame *f, const variant *v)
{
    const sc_error *e = &f->cx->error;
    PyObject *rows = rows_of(v->program, e->loc), *exception = NULL;
    if (rows && f->stopped && !strcmp(e->type, f->stopped_as.type) && !strcmp(e->message, f->stopped_as.message)) {
        exception = PyObject_CallFunctionObjArgs(f->owner->host.place_exception, f->stopped, rows, NULL);
        Py_DECREF(rows);
        return exception ? exception : raised_now();
    }
    PyObject *message = PyUnicode_DecodeUTF8(e->message, (Py_ssize_t)strlen(e->message), "replace");
    if (rows && message)
        exception = PyObject_CallFunction(f->owner->host.make_exception, "sOOO", e->type, message, rows, v->exceptions);
    Py_XDECREF(rows);
    Py_XDECREF(message);
    return exception ? exception : raised_now();
}

/* Bump the versions of the written arguments, which autograd compares. */
static int bump_versions(const frame *f)
{
    PyObject *written = NULL;
    for (int i = 0; i < f->n_held; i++) {
        if (!(f->held[i].tensor->storage->flags & SC_WRITTEN))
            continue;
        if ((!written && !(written = PyList_New(0))) || PyList_Append(written, f->held[i].object) < 0)
            return Py_XDECREF(written), -1;
    }
    if (!written)
        return 0;
    PyObject *done = call_one(f->owner->host.bump, written);
    Py_DECREF(written);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* Lend the entry the state of torch's generator, which the entry advances. */
static PyObject *lend_generator(frame *f)
{
    PyObject *pair = PyObject_CallNoArgs(f->owner->host.random_begin), *state = NULL;
    unsigned long long address;
    if (pair && PyArg_ParseTuple(pair, "OK", &state, &address))
        Py_INCREF(state), f->cx->rng = (sc_rng *)(uintptr_t)address;
    Py_XDECREF(pair);
    return state;
}

static int take_generator_back(frame *f, PyObject *state)
{
    f->cx->rng = NULL;
    PyObject *done = call_one(f->owner->host.random_end, state);
    Py_DECREF(state);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

static int take_numpy_back(frame *f)
{
    PyObject *state = f->numpy_state;
    f->cx->numpy_rng = NULL, f->numpy_state = NULL;
    PyObject *done = call_one(f->owner->host.numpy_end, state);
    Py_DECREF(state);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

PyObject *execute(frame *f, variant *v)
{
    PyObject *result = NULL, *failed = NULL, *generator = NULL;
    if (v->random && !(generator = lend_generator(f)))
        return NULL;
    int r = run_entry(f, v);
    if (generator && take_generator_back(f, generator) < 0)
        return NULL;
    if (f->numpy_state && take_numpy_back(f) < 0)
        return NULL;
    if (r >= 0 && !f->raised && f->cx->hides_write) {
        sc_raise(f->cx, "NotImplementedError", "compiled code wrote in place to an argument that requires grad, which autograd "
                                               "does not see: write to a clone of it");
        r = -1;
    }
    bool fails = f->raised || r < 0;
    /* writes before an error stay, as in eager, and so do writes to objects that the exception holds */
    int kept = bump_versions(f) < 0 || changes_write_back(f, !fails, v) < 0 ? -1 : 0;
    if (fails) {
        PyErr_Clear();
        failed = f->raised ? f->raised : error_object(f, v);
        f->raised = NULL;
        raise_object(failed);
    } else if (kept == 0) {
        result = result_build(f, v);
    }
    return result;
}

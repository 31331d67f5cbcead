/* interrupt.c - Ctrl-C during compiled code: loops notice a pending signal, and Python's handlers decide what follows.
 *
 * As in Python, handlers run in the main thread alone: calls in other threads never stop. */
#include "bridge.h"
#include "sc_signal.h"

#include <pthread.h>

#define WATCH_EVERY 100e-6 /* seconds; any Python code may set another handler, but reading the handler takes 0.2 us */

static pthread_t main_thread;
static double watched; /* when the handler was last read */

static void note_main_thread(void) { main_thread = pthread_self(); } /* after fork, the only thread of the child */

void sc_bridge_main_thread(unsigned long ident)
{
    main_thread = (pthread_t)ident;
    pthread_atfork(NULL, NULL, note_main_thread);
}

/* Raise a Python exception as an error of compiled code, by its class name and text. */
static void raise_as_error(frame *f, PyObject *exception)
{
    PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(exception), "__name__"), *text = PyObject_Str(exception);
    const char *type = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL, *message = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    sc_raise(f->cx, type ? type : "KeyboardInterrupt", "%s", message ? message : "");
    f->stopped_as = f->cx->error;
    Py_XDECREF(name);
    Py_XDECREF(text);
    PyErr_Clear();
}

static int on_stop(sc_ctx *cx)
{
    frame *f = cx->user;
    __atomic_store_n(&cx->stop, 0, __ATOMIC_RELAXED);
    uint64_t mode = enter_python(f);
    int r = PyErr_CheckSignals();
    if (r < 0) {
        Py_CLEAR(f->stopped);
        f->stopped = raised_now();
        raise_as_error(f, f->stopped);
    }
    leave_python(f, mode);
    return r;
}

static __attribute__((noinline)) void watch(double now)
{
    watched = now;
    sc_sigint_watch();
}

void interrupt_begin(frame *f, double now)
{
    sc_ctx *cx = f->cx;
    cx->stop = 0;
    f->in_main = pthread_equal(pthread_self(), main_thread);
    if (!f->in_main)
        return;
    cx->on_stop = on_stop;
    f->around = sc_sigint_flag(&cx->stop);
    if (now - watched >= WATCH_EVERY)
        watch(now);
}

void interrupt_end(frame *f)
{
    if (!f->in_main)
        return;
    sc_sigint_flag(f->around);
    if (f->around && __atomic_load_n(&f->cx->stop, __ATOMIC_RELAXED))
        __atomic_store_n(f->around, 1, __ATOMIC_RELAXED); /* the enclosing call has not polled its flag yet */
}

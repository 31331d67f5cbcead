/* sc_text.h - text as UTF-8 while it is put together, for the files that make strings of values. */
#ifndef SC_TEXT_H
#define SC_TEXT_H

#include "../include/sc_str.h"
#include "sc_internal.h"

typedef struct sc_utf8 { /* grows while memory lasts; data is NUL-terminated, and the owner's to free */
    char *data;
    size_t len, cap;
    bool failed;
} sc_utf8;

SC_KERNEL void sc_utf8_add(sc_utf8 *t, const char *piece, size_t n);
SC_KERNEL void sc_utf8_float(sc_utf8 *t, double x);       /* repr(x) */
SC_KERNEL sc_str *sc_utf8_made(sc_ctx *cx, sc_utf8 *t); /* the string; frees t */

#endif

/* sc_complex.h - complex elements. Products and quotients are eager's: plain formulas, where C's own go to some length to
 * keep infinities; functions are those of the C library, which eager calls too. */
#ifndef SC_COMPLEX_H
#define SC_COMPLEX_H

typedef float _Complex sc_c64;
typedef double _Complex sc_c128;

#define C sc_c64
#define T float
#define N(name) sc_##name##_c64
#define M(name) __builtin_##name##f
#include "sc_complex.inc"
#define C sc_c128
#define T double
#define N(name) sc_##name##_c128
#define M(name) __builtin_##name
#include "sc_complex.inc"

#endif

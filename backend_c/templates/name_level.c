/* @{name}_level.c - the program and the kernels that it needs in one translation unit, compiled once per ISA level with the level's -m flags and
 * -DSC_LEVEL_NAME=level. Made by scriptc. */
#include "sc_names.h"

#ifndef SC_LEVEL_NAME
#define SC_LEVEL_NAME native
#endif
#define SC_TEXT_OF(x) #x
#define SC_TEXT(x) SC_TEXT_OF(x)
#define SC_JOIN_OF(a, b) a##b
#define SC_JOIN(a, b) SC_JOIN_OF(a, b)
#define SC_LEVEL SC_TEXT(SC_LEVEL_NAME)

#define SC_UNITY 1
#include "@{name}_kernels.h"
@{kernels}

#define sc_program_get SC_JOIN(@{name}_program_, SC_LEVEL_NAME)
#include "@{name}.c"

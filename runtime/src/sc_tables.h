/* sc_tables.h - the memory of dicts (sc_tables.c). */
#ifndef SC_TABLES_H
#define SC_TABLES_H
#include "sc_internal.h"

#pragma GCC visibility push(hidden)
void sc_table_release(sc_ctx *cx, const sc_dict *d); /* releases the keys and the values */
void sc_table_give(sc_ctx *cx, sc_dict *d);          /* keeps or frees the memory of a dict that dies */
bool sc_table_take(sc_ctx *cx, sc_dict *d);          /* gives an empty dict memory that is kept; false: there is none */
void sc_tables_free(sc_ctx *cx);                     /* frees the memory that is kept */
#pragma GCC visibility pop
#endif

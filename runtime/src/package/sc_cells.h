/* sc_cells.h - the content of a state, for the files that make, save and load states. */
#ifndef SC_CELLS_H
#define SC_CELLS_H
#include "sc_package.h"

typedef struct sc_cell { /* one leaf: a number, a str, a tensor, or a list of one of these */
    sc_value number;
    sc_str *text;         /* not counted; its data follows the struct */
    sc_tensor form;       /* sizes and strides of a tensor; data is NULL if it is absent */
    struct sc_cell *items; /* of a list */
    int64_t n;
} sc_cell;

struct sc_state {
    const sc_model *model;
    sc_cell *cells; /* as many as the package has leaves */
    sc_cell *old;   /* cells that the running call has replaced, which its results may alias, or NULL */
};

#pragma GCC visibility push(hidden)

void sc_cell_clear(sc_cell *cell);
int sc_cell_set_tensor(sc_cell *cell, const sc_tensor *from); /* copies with strides; -1: out of memory */
int sc_cell_set_text(sc_cell *cell, const sc_str *from);      /* -1: out of memory */
/* Replace all cells by new ones, unless making these failed, and free the others. */
int sc_state_replace(sc_state *state, sc_cell *made, int failed);

#pragma GCC visibility pop
#endif

/* sc_safetensors.h - safetensors files in memory, which come from outside: nothing in them is believed. */
#ifndef SC_SAFETENSORS_H
#define SC_SAFETENSORS_H
#include "sc_package.h"

#define SC_MAX_NAME 1024 /* bytes of a tensor's name, terminated */

typedef struct sc_row { /* the entry of one tensor in the header */
    char dtype[SC_MAX_NAME];
    uint64_t size[SC_MAX_RANK], offsets[2];
    int rank;
} sc_row;

typedef struct sc_span { /* the parts of a file */
    const char *after_metadata; /* the rest of the header */
    const char *data;
    uint64_t bytes; /* of data */
} sc_span;

typedef struct sc_reader { /* what the entries of a header are given to; -1 after sc_tell */
    void *user;
    int (*metadata)(void *user, const char *key, const char *value, sc_text error);
    int (*tensor)(void *user, const char *name, const sc_row *row, sc_text error);
} sc_reader;

#pragma GCC visibility push(hidden)

extern const char *const sc_dtype_names[SC_NDTYPES]; /* as headers spell them */

/* Read a file's header. The span is there before the reader gets an entry. */
int sc_read_safetensors(const void *file, size_t bytes, const sc_reader *to, sc_span *span, sc_text error);
/* Check that the data of a tensor is in the file, and as long as the sizes say. item: the size of an element. */
int sc_check_data(const sc_span *span, const char *name, const sc_row *row, uint64_t item, sc_text error);

#pragma GCC visibility pop
#endif

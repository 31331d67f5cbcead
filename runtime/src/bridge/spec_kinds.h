/* spec_kinds.h - the kinds of specs and guards; runtime/spec_kinds.py says what each is.
 * Written from there by `python -m scriptc.runtime.kernels`. */
#ifndef SC_SPEC_KINDS_H
#define SC_SPEC_KINDS_H

enum node_kind { N_TENSOR, N_INT, N_FLOAT, N_BOOL, N_STR, N_LIST, N_MAP, N_SET, N_INSTANCE, N_CONSTANT, N_TUPLE, N_NAMED_TUPLE,
    N_DICT, N_OBJECT, N_ITEMS, N_QUEUE, N_OPTIONAL, N_PLACE, N_IGNORED, N_ARG };

enum guard_kind { G_DICT_IS, G_DICT_EQ, G_DICT_MISSING, G_CELL_IS, G_CELL_EQ, G_TYPE_ATTR_IS, G_DICT_EMPTY, G_LIST_ITEMS_ARE,
    G_DEFAULT_DTYPE_IS, G_GRAD_MODE_IS, G_DICT_KEYS_ARE, G_LIST_LENGTH_IS, G_REQUIRES_GRAD_IS, G_OBJECT_IS, G_FUNCTION_IS,
    G_MRO_IS, G_BYTES_ARE, G_ITERATION_GIVES, G_ATTRIBUTE_IS, G_TYPE_MISSING, G_DICT_HAS, G_CALL_GIVES, G_REFERENT_LIVES };

#endif

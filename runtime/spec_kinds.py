"""The kinds of specs and of guards. `python -m scriptc.runtime.kernels` writes the C enums from these lists.

A spec is a tree of nodes: a kind, the data of that kind, and the specs below.
"""

from enum import IntEnum


class NodeKind(IntEnum):
    """The kinds of nodes. Comments give the data of a kind, and the specs below a node of the kind."""

    # Leaves: each is one argument, or one result, of an entry. C relies on STR being the last one without specs below.
    TENSOR = 0  # dtype, sizes (None: any), whether elements stand in order without gaps
    INT = 1  # an exact int of 64 bits, not a bool; more raises OverflowError
    FLOAT = 2
    BOOL = 3
    STR = 4
    LIST = 5  # the class, list or tuple; below: the items, of any number
    MAP = 6  # a function that converts a result to another class, or None; below: keys and values, of any number
    SET = 7  # the class; below: the items
    INSTANCE = 8  # a result: class, names of attributes, function that returns their specs, which may be INSTANCEs
    # The structure around leaves.
    CONSTANT = 9  # the object; an argument must be this object or, for constants, an equal one of the same type
    TUPLE = 10  # below: the items
    NAMED_TUPLE = 11  # a function or class that makes it from its items; complex has two floats; below: the items
    DICT = 12  # the keys in the dict's order; below: the values; an argument has a place
    OBJECT = 13  # an argument: class, names of all attributes; below: the attributes; it has a place
    ITEMS = 14  # an argument: a list of so many items; below: the items; it has a place
    QUEUE = 15  # an argument: maxlen of a deque; below: a LIST, its content; it has a place
    OPTIONAL = 16  # in a container: a value or None; below: the value
    PLACE = 17  # the number of a place: the same object as an earlier argument or a part of one
    IGNORED = 18  # an argument that compiled code does not read
    ARG = 19  # a result that is an argument: index of the parameter, then indices and keys into containers


# Places number such arguments, and parts of arguments, in the order of arguments, containers before what they hold.


class Guard(IntEnum):
    """The conditions under which a variant may be called: what each says of `container`, `key` and `expected`."""

    DICT_IS = 0  # container[key] is expected
    DICT_EQ = 1  # container[key] is the same constant
    DICT_MISSING = 2  # a dict has no such key
    CELL_IS = 3  # the content of a closure cell is expected
    CELL_EQ = 4  # the content of a closure cell is the same constant
    TYPE_ATTR_IS = 5  # the __dict__s of a class and its bases hold `expected` under the key
    DICT_EMPTY = 6
    LIST_ITEMS_ARE = 7  # a list or tuple holds exactly the objects of the tuple `expected`
    DEFAULT_DTYPE_IS = 8
    GRAD_MODE_IS = 9
    DICT_KEYS_ARE = 10  # a dict has exactly the keys of the tuple `expected`, in that order
    LIST_LENGTH_IS = 11
    REQUIRES_GRAD_IS = 12  # the tensor container[key] requires grad, or does not
    OBJECT_IS = 13  # an object has the class and, unless None, the __dict__ in the tuple `expected`
    FUNCTION_IS = 14  # a function has the code, the defaults and the keyword defaults in the tuple `expected`
    MRO_IS = 15  # a class has these bases
    BYTES_ARE = 16  # a buffer has the format, the shape and the bytes in the tuple `expected`
    ITERATION_GIVES = 17  # iterating an object of C gives the same constants as the tuple `expected`
    ATTRIBUTE_IS = 18  # getattr(container, key) gives the same constant
    TYPE_MISSING = 19  # neither a class nor its bases define the key
    DICT_HAS = 20  # a dict has the key
    CALL_GIVES = 21  # a function without arguments gives the same constant
    REFERENT_LIVES = 22  # the object of a weak reference exists, or does not

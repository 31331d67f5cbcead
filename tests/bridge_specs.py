"""The nodes of specs that the tests of the bridge put together, as the specs of the front end give them."""

from scriptc.runtime.bridge import Node


def Tensor(dtype, rank, sizes=None, contiguous=False):
    return Node("tensor", (dtype, sizes or (None,) * rank, contiguous))


def Int():
    return Node("int")


def Float():
    return Node("float")


def Bool():
    return Node("bool")


def Str():
    return Node("str")


def Constant(value):
    return Node("constant", value)


def List(element, cls=list):
    return Node("list", cls, (element,))


def Map(key, item, make=None):
    return Node("map", make, (key, item))


def Set(key, cls=set):
    return Node("set", cls, (key,))


def Tuple(items):
    return Node("tuple", None, items)


def NamedTuple(cls, items):
    return Node("named_tuple", cls, items)


def Dict(items):
    return Node("dict", tuple(key for key, _ in items), tuple(item for _, item in items))


def Object(cls, items):
    return Node("object", (cls, tuple(name for name, _ in items)), tuple(item for _, item in items))


def Ignored():
    return Node("ignored")


def Arg(path):
    return Node("arg", path)

"""Kinds of values: a file for each, which answers the verbs of `frontend.values.verbs` that the kind supports."""

from scriptc.frontend.kinds import (
    complexes,
    dicts,
    exceptions,
    functions,
    iterators,
    known,
    lists,
    objects,
    ranges,
    records,
    scalars,
    tensors,
    tuples,
    unbound,
    unions,
)

KINDS = (
    complexes, dicts, exceptions, functions, iterators, known, lists, objects, ranges, records, scalars, tensors, tuples,
    unbound, unions,
)  # fmt: skip

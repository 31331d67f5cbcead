"""What compiled code cannot contain: why, in plain words, and what to write instead, by the name that the front end gives.

A reason and a rewrite may hold `{name}`, which the place that refuses fills in. `tests/language/rejected` has a program for
each row, with the rewritten one.
"""

from __future__ import annotations

import ast

REJECTIONS: dict[str, tuple[str, str]] = {
    "argument_list_of_other": (
        "a {what} of the caller cannot hold {item} as well",
        "make a {name} of your own: {name}(...)",
    ),
    "argument_of_creation": ("the argument {name}={value} is not supported in compiled code", "leave the argument out"),
    "async_function": ("async functions aren't supported in compiled code", "compile a plain function"),
    "aten_operator": ("torch.ops.{name} is not supported yet", "use the function of torch that does the same"),
    "attribute_assigned": (
        "assignment to the attribute '{name}' of {what} is not supported",
        "keep it in an object of a class",
    ),
    "attribute_behind_del": ("the attribute '{name}' of {class_name} is not supported behind del", "assign None to it"),
    "attribute_deleted": ("del of an attribute of an object made here is not supported", "assign None to it"),
    "attribute_of_autograd": ("'{name}' is not known in compiled code", "compute on values, not on autograd's state"),
    "attribute_of_exception": (
        "attribute '{name}' of an exception that was caught is not known here",
        "use str() of it",
    ),
    "attribute_of_function": (
        "attribute '{name}' of a function is not supported in compiled code",
        "keep it in a global or an attribute of the module",
    ),
    "attribute_of_numpy_number": (
        "'{name}' of a number of NumPy's is not known here, where it is one of Python's",
        "call int() or float(), or compute with the module math",
    ),
    "attribute_of_outside_assigned": (
        "assignment to the attribute '{name}' of {what} is not supported",
        "keep it in an nn.Module",
    ),
    "autocast": ("autocast is not supported in compiled code", "cast with .to(dtype), or pass enabled=False"),
    "buffer_of_other": (
        "the buffer '{name}' can hold a tensor or None alone, and this may be {what}",
        "keep it in a plain attribute",
    ),
    "builtin_function": ("this builtin is not supported in compiled code", "call it outside of the compiled function"),
    "call_depth": ("{name} is called from within more than {depth} calls", "write it as a loop"),
    "call_of_generator": ("{name} is a generator or async function", "append to a list and return it"),
    "call_of_other": ("{what} is not callable in compiled code", "call a function, a method or a module"),
    "class_inside": (
        "class statements inside a function aren't supported in compiled code",
        "define the class at the top of the file",
    ),
    "class_unknown": ("the class of this value is not known at compile time", "use isinstance"),
    "complex32": ("complex32 (complex numbers of half precision) is not supported", "convert to float32 first"),
    "complex_kernel": ("{name} of complex tensors is not supported", "compute on their parts: torch.view_as_real(x)"),
    "complex_number": ("a complex number cannot be used here", "make a tensor of it, or use its parts"),
    "complex_scatter": ("scatter of complex tensors with '{how}' is not supported", "assign, or add to what is there"),
    "complex_operator": (
        "{name} of complex tensors is not supported",
        "compute on their parts, .real and .imag, or on abs()",
    ),
    "computed_at_run_time": (
        "{what} must be known at compile time, but it is computed here",
        "use a constant or an argument of the compiled function",
    ),
    "container_in_itself": ("a {container} of unknown length cannot hold itself", "put in what is needed of it"),
    "container_of_complex": (
        "complex numbers cannot be kept in a container that changes, or whose length is known only at run time",
        "keep one container for each part",
    ),
    "container_of_kinds": ("{what} cannot hold {item} as well", "use one type of items in a {container}"),
    "container_of_lengths": ("{what} that an operation makes cannot hold {item} as well", "use tuples of one length"),
    "container_of_several_used": (
        "a container of values of several kinds cannot be used here: {why}",
        "make them one type first",
    ),
    "container_of_unstorable": (
        "a {container} of {item} cannot grow in compiled code",
        "keep one {container} for each part",
    ),
    "container_outside_changed": (
        "this {kind} from outside cannot be changed in compiled code",
        "make a new one: {kind}(...)",
    ),
    "content_too_large": (
        "a {kind} of more than {most} bytes from outside cannot be used here: what it holds may change between calls",
        "use a tensor: torch.from_numpy()",
    ),
    "content_unguarded": (
        "a {kind} from outside cannot be used in compiled code: what it holds may change between calls",
        "use a list",
    ),
    "copy_of_other": ("a copy of this value is not supported", "use clone() for tensors"),
    "decorator_inside": (
        "a context manager as the decorator of a function inside compiled code is not supported",
        "use with in its body",
    ),
    "delattr_of_object": ("delattr() of an object made here is not supported", "assign None to it"),
    "dict_changed": (
        "the dict of a module's parameters, buffers or modules cannot be changed in compiled code",
        "assign to the attribute: self.name = x",
    ),
    "dict_gets_run_time_keys": (
        "a dict with known keys cannot take keys that are known only at run time",
        "begin with an empty dict",
    ),
    "double_star_of_other": ("** of {what} is not supported in compiled code", "give a dict"),
    "dtype_of_other": ("the dtype {dtype} is not supported", "use a dtype of real numbers"),
    "except_star": ("except* blocks aren't supported in compiled code", "use if and raise"),
    "field_of_format": ("the field '{name}' of a format is not supported", "use plain names and numbers"),
    "form_of_call": ("{name}: {why}", "write the call in a form that takes only these arguments"),
    "format_of_other": ("a format of {what} is not supported in compiled code", "format its numbers"),
    "format_unknown": ("this conversion of the % operator is not supported in compiled code", "use an f-string"),
    "frozen": ("a {name} is frozen", "make a changed one with dataclasses.replace()"),
    "function_without_source": ("{name} is not supported yet", "compute it before the call and pass the result in"),
    "function_as_value": (
        "which function or module {who} is must be known at compile time",
        "keep numbers in its place, and choose with if where it is called",
    ),
    "functions_in_list": (
        "a list whose length is known only at run time cannot hold functions or modules",
        "keep numbers in it, and choose with if where the function is called",
    ),
    "generator_seeded": ("the generator cannot be seeded in compiled code", "seed it in front of the call"),
    "global_assigned": ("assignment to the global '{name}' is not supported", "pass the value in and return it"),
    "gradients_on": (
        "gradients cannot be switched on in compiled code",
        "set_grad_enabled(False) and no_grad() are supported",
    ),
    "hook_and_keywords": ("hooks and keyword arguments together are not supported", "pass the arguments by position"),
    "hook_returns_sometimes": (
        "a hook that returns None on some paths only is not supported",
        "return a value on all paths",
    ),
    "hash_of_other": (
        "the hash of {what} may differ from process to process",
        "hash numbers, or tuples of numbers; dicts and sets take strings too",
    ),
    "hooks_on_all_modules": ("hooks on all modules are not supported yet", "remove them before the call"),
    "hooks_on_container": ("hooks on a {kind} are not supported yet", "call the function in forward instead"),
    "identity_of_strings": ("whether two strings are one object is not known in compiled code", "compare with =="),
    "identity_unknown": (
        "`is` between values that may or may not be one object is not supported yet",
        "compare with ==",
    ),
    "import_of_new": ("import of {name}, which is not imported yet", "import it at the top of the file"),
    "import_unfollowed": ("this import cannot be followed in compiled code", "import it at the top of the file"),
    "index_of_other": ("indexing a tensor with {what} is not supported yet", "use ints, slices and tensors"),
    "index_of_unknown_length": (
        "an index of a tensor whose length is known only at run time",
        "index dimension by dimension",
    ),
    "int_of_more_than_64_bits": (
        "an int that needs more than 64 bits cannot be used at run time",
        "use a float, or smaller ints",
    ),
    "is_parameter": ("whether a tensor is a Parameter is not known in compiled code", "test for it before the call"),
    "item_assigned": ("assignment to an item of {what} is not supported yet", "use a list, a dict or a tensor"),
    "item_deleted": ("del of an item of {what} is not supported in compiled code", "use a list or a dict"),
    "iteration_over_one_of_several": ("iteration over {what} is not supported", "test its type first"),
    "iteration_over_outside": ("iteration over {what} is not supported in compiled code", "use a list or a tuple"),
    "iteration_over_value": (
        "iteration over {what} by its __next__ is not supported in compiled code",
        "use a list, or call __next__() in a loop",
    ),
    "kept_and_returned": ("what '{name}' holds is returned as well", "return its items, or a copy: dict(d)"),
    "kept_structure": (
        "'{name}' is to keep {what}, which cannot live on after the call ({why})",
        "keep tensors, numbers, strings, None, and lists, tuples and dicts of these",
    ),
    "iterator_walked_again": (
        "an iterator is asked again behind what walks it, or by each turn of a loop: what is left in it is not known",
        "make a list of it first: list(...)",
    ),
    "key_of_other": (
        "a {container} that changes at run time cannot have {what} as a key",
        "use numbers, or tuples of numbers",
    ),
    "key_of_other_type": ("a {item} is no key where keys are {held}", "use one type of items"),
    "lazy_conjugate_unknown": (
        "whether this tensor is a lazy conjugate depends on the path that led here",
        "call resolve_conj() on it",
    ),
    "len_of_other": ("len() of this value is not supported yet", "count its items in a loop"),
    "length_unknown": (
        "the length of {what} is not known at compile time here",
        "walk it in a loop, or write its items out",
    ),
    "list_changes_without_type": (
        "a list whose items have no common type cannot be changed here",
        "use one type of items in a list, or one list for each",
    ),
    "list_of_kinds_of_caller": (
        "a list of the caller whose items differ in kind keeps its length",
        "pass one type of items",
    ),
    "list_of_known_items_used": (
        "a list whose items must be known one by one is indexed or passed on as a whole: {why}",
        "compute what is needed at compile time from constants, sizes that are constants and numbers of dims",
    ),
    "list_of_other_length": (
        "a list has another length on some path, and must have one: {why}",
        "give it one length on all paths, or keep numbers, strings or tensors of one kind in it and walk it",
    ),
    "list_without_type_used": ("a list whose items have no common type cannot be used here", "use a tuple"),
    "logger_without_name": (
        "the logger {name} is not what logging.getLogger() gives for its name",
        "use a logger of logging.getLogger()",
    ),
    "logging_set_up": ("logging is not set up in compiled code", "call logging.basicConfig() outside, before the first call"),
    "loop_does_not_end": (
        "this loop needs its numbers at compile time, but {count} iterations do not end it",
        "use what the counter gives at run time: a list or a tensor",
    ),
    "loop_without_type": ("what this loop carries from one iteration to the next has no type", "use one type per name"),
    "made_is_kept": ("{what} made in compiled code cannot be kept for the next call", "keep a tuple"),
    "manager_with_other_yields": (
        "a context manager with other than one yield, or one on some paths only",
        "use a class",
    ),
    "view_as_bool": ("a view of other elements as bools is not supported", "write x != 0, or x.bool()"),
    "mask_without_dims": ("index_put with a mask without dimensions is not supported", "write x[mask] = value"),
    "memoised_recursion": (
        "{name} calls itself and remembers its results, which compiled code does not for arguments of run time",
        "fill a list or a dict in a loop",
    ),
    "method_of_builtin": ("{kind}.{name} is not supported yet", "compute it before the call and pass the result in"),
    "method_of_tensor": ("Tensor.{name} is not supported yet", "use another method, or compute it before the call"),
    "module_replaced": ("a module cannot be replaced in compiled code", "choose between modules with if"),
    "next_with_default": (
        "next() of this iterator with a default is not supported",
        "call its __next__() and test for the end",
    ),
    "nextafter_of_half": ("nextafter in {dtype} is not supported", "compute it in float32 or float64"),
    "no_run_time_value": (
        "{what} cannot be used as a value in compiled code",
        "use the numbers, tensors, strings and lists in it",
    ),
    "not_known": (
        "{what} must be known at compile time, but it is {found}",
        "use a constant or an argument of the compiled function",
    ),
    "object_kept_twice": ("one object is kept in '{other}' and in '{name}'", "keep it in one place"),
    "module_converted": ("a module is converted to {dtype} in compiled code", "convert it outside"),
    "module_made_here": (
        "'{name}' of a {class_name} that is made in compiled code is not supported",
        "make the module outside, and keep it in another",
    ),
    "object_of_other_class": ("making a {name} is not supported in compiled code", "make it outside and pass it in"),
    "one_of_several_used": ("a value that is {what} cannot be used here", "convert it, or test its type first"),
    "operator_on_others": ("{operator} on a {a} and a {b} is not supported yet", "convert one of them"),
    "order_of_set": ("the order of a set of strings differs from run to run", "walk sorted(...) of it"),
    "other_keys_on_a_path": ("{what} has other keys or attributes on some path", "set them on all paths"),
    "out_of_other_rank": (
        "out= of another rank than the result is not supported",
        "give a tensor of the result's shape",
    ),
    "outer_variable_assigned": ("assignment to '{name}' of a function outside", "pass the value in and return it"),
    "own_getattr": (
        "attribute '{name}' comes from a __getattr__ of {class_name}, which is not followed",
        "read the attribute in a method",
    ),
    "own_setattr": (
        "{class_name} has a {method} of its own, which is not followed",
        "assign in a method that is called outside",
    ),
    "parameter_replaced": ("a parameter cannot be replaced in compiled code", "write into it: p.copy_(new)"),
    "paths_differ": ("{who} is {what} on paths that meet here", "give both one type"),
    "paths_leave_other_content": (
        "what a list, dict or object holds is {what} on paths that meet here",
        "let it have one length or the same keys on all paths, or items of one kind",
    ),
    "pattern": ("this pattern is not supported in compiled code", "use if and elif"),
    "property_of_other": (
        "the property '{name}' is not a Python function",
        "write the property as a function in Python",
    ),
    "queue_of_kinds": (
        "what this deque from outside holds is of several kinds, or cannot be the item of a list at run time",
        "put numbers, strings, tensors, or tuples of one form of these into it",
    ),
    "queue_out_of_reach": (
        "a deque that changes between calls is read from an argument, an attribute, a global, or a list or dict in one of "
        "these, and this one is elsewhere",
        "keep it in an attribute",
    ),
    "raise_of_other": ("{name} cannot be raised in compiled code", "raise an Exception"),
    "raise_with_own_str": (
        "{name} has a __str__ of its own, which cannot be raised in compiled code",
        "give the message to super().__init__()",
    ),
    "raised_attributes_lost": (
        "attributes of a {name}, which has no __init__ of its own, are lost when it is raised",
        "set them in an __init__",
    ),
    "raised_from_outside": (
        "a {name} that was made outside, and has an __init__ of its own, cannot be raised in compiled code",
        "make it where it is raised",
    ),
    "raised_with_other_attributes": ("a {name} has other attributes in some places", "set the same in its __init__"),
    "random_of_dtype": (
        "random numbers of this distribution in a tensor of {dtype} are not supported",
        "draw in float32 and convert",
    ),
    "random_without_bounds": ("random_() without bounds is not supported", "give the bounds: x.random_(0, n)"),
    "reading_does_not_end": (
        "{name} was read {count} times, and each time something else turned out about it: {why}",
        "give each name, list and dict one type, and split the function",
    ),
    "record_field_of_kinds": (
        "'{name}' of a {owner}, of which it is not known which one it is in some place, is {held} and {item}",
        "give it one type",
    ),
    "record_loses_key": (
        "{what}, of which it is not known which one it is in some place, loses a key",
        "set its value to None",
    ),
    "record_late_none": (
        "'{name}' of a {owner}, of which it is not known which one it is in some place, is lacking at first and may be None",
        "set it where it is made",
    ),
    "record_new_key": (
        "{what}, of which it is not known which one it is in some place, gets a new key '{name}'",
        "set it where it is made",
    ),
    "record_of_many": (
        "a {name}, of which it is not known which one it is in some place, holds more than {most} values",
        "keep some of them in a list",
    ),
    "record_stored_in_init": (
        "{name} is stored somewhere in its own __init__, or in itself",
        "store it behind the call that makes it",
    ),
    "recursion_captures": (
        "{name} calls itself and uses a value that cannot be passed to it",
        "pass what it uses as arguments",
    ),
    "recursion_of_ever_new_kinds": (
        "{name} calls itself for ever new kinds of arguments",
        "pass what differs as numbers, tensors or lists of them",
    ),
    "recursion_returns": (
        "what {name} returns cannot be handed over by a function that calls itself",
        "return tensors, numbers, lists of one type, or tuples of these",
    ),
    "recursion_with_object_twice": ("an object is passed twice to {name}, which calls itself", "pass it once"),
    "recursion_with_structure": (
        "{name} calls itself, to a depth that is not known, with {what} of the caller",
        "pass the tensors, numbers and lists in it",
    ),
    "replace_of_outside": (
        "dataclasses.replace() of an object from outside is not supported",
        "make it in the compiled code",
    ),
    "repr_of_exception": ("the repr of an exception is not supported in compiled code", "use str() of it"),
    "reshape_in_place": ("{name}_() changes the shape of a tensor that may have other names", "x = x.{name}(...)"),
    "resized_bytes": ("resizing of uint8 images is not supported", "convert to float, resize, round and convert back"),
    "returned_twice": ("what the function returns holds one object in two places", "return a copy in one: copy.copy(...)"),
    "returns_differ": ("the function returns {why}", "return one type of value on all paths"),
    "requires_grad_set": (
        "whether a tensor requires grad is not set in compiled code, which has no backward",
        "leave it out, or set it outside",
    ),
    "round_of_tensor": ("round() of a tensor is not supported", "use torch.round"),
    "same_object_on_a_path": ("{what} that is, on some path, the same as another one cannot be used here", "copy it"),
    "set_of_items": ("a set of such items can only be asked what it contains", "use numbers, or tuples of numbers"),
    "source_not_found": ("{module}.{name} cannot be followed: {why}", "define it in a file"),
    "state_of_many_kinds": (
        "'{name}' is kept from call to call, and takes ever more kinds of values",
        "give it one type",
    ),
    "state_of_structure": (
        "'{name}' is to keep {what}, which a build ahead of time cannot",
        "keep tensors, numbers, strings, lists of one kind of these, and tuples and dicts with known keys",
    ),
    "state_of_two_kinds": ("'{name}' is kept from call to call, and is {why}", "give it one type"),
    "storage_offset": (
        "where a tensor from outside begins in its storage is not known in compiled code",
        "pass the offset in",
    ),
    "subscript_of_module": ("this subscript of a {name} is not supported yet", "name the module as an attribute"),
    "subscript_of_other": ("this subscript of {what} is not supported yet", "use a list, a tuple, a dict or a tensor"),
    "slot_of_builtin": (
        "{kind}.{name} is not supported",
        "write what it stands for: xs[i] = v, del xs[i], a + b, str(x)",
    ),
    "tensor_as_key": ("a tensor cannot be the key of a dict in compiled code", "use key.item()"),
    "tensor_of_tensor": ("torch.tensor of a tensor is not supported", "use clone()"),
    "tensor_outside": ("the tensor {name} cannot be used in compiled code: {why}", "use a dense tensor on the CPU"),
    "text_of_address": ("the text {text} holds an address, which is another in each process", "give its class a __repr__"),
    "text_of_other": ("the text of {what} is not supported in compiled code", "use its numbers"),
    "text_of_parameter": ("the text of a parameter is not supported in compiled code", "print p.detach()"),
    "too_long_to_unroll": (
        "this loop needs its counter at compile time, but {count} iterations are too many to unroll",
        "use what the counter gives at run time: a list or a tensor",
    ),
    "repeated_too_often": (
        "{count} items of several kinds, or other than numbers and tensors, are too many",
        "repeat what is of one kind",
    ),
    "torchscript": (
        "{name} is {kind}: TorchScript keeps no Python to compile",
        "use what was given to torch.jit.script or torch.jit.trace",
    ),
    "transpose_of_many_dims": ("{name} of a tensor of {rank} dims is not supported", "use permute or mT"),
    "tuple_of_kinds": (
        "a tuple whose length is known only at run time holds one type of items",
        "use one type of items, or a tuple for each",
    ),
    "tuple_of_unstorable": (
        "a tuple of {items} cannot change its length in compiled code",
        "keep one tuple for each part",
    ),
    "tuples_of_kinds": (
        "a {left} and a {right} in one tuple whose length is known only at run time",
        "use one type of items, or a tuple for each",
    ),
    "two_names_of_an_object": ("an object has two names where paths meet", "use one name for it"),
    "type_statement": (
        "type statements inside a function aren't supported in compiled code",
        "define the alias at the top of the file",
    ),
    "with_of_other": (
        "with {what} is not supported in compiled code",
        "torch.no_grad(), contextlib.suppress() and objects with __enter__ and __exit__ are",
    ),
    "written_tensor_of_no_attribute": (
        "'{name}' is written, and is no attribute, or has two names: a build ahead of time cannot keep it",
        "make it one attribute, or pass it as an argument",
    ),
    "yield": ("yield isn't supported in compiled code", "append to a list and return it"),
    "yield_from": ("yield from isn't supported in compiled code", "extend a list and return it"),
    "zip_strict": ("zip of these sequences is not supported with strict=True", "compare their lengths before"),
}  # fmt: skip

STATEMENTS_AND_EXPRESSIONS: dict[type[ast.AST], str] = {
    ast.AsyncFunctionDef: "async_function",
    ast.Yield: "yield",
    ast.YieldFrom: "yield_from",
    ast.ClassDef: "class_inside",
}
if hasattr(ast, "TryStar"):
    STATEMENTS_AND_EXPRESSIONS[ast.TryStar] = "except_star"
if hasattr(ast, "TypeAlias"):
    STATEMENTS_AND_EXPRESSIONS[ast.TypeAlias] = "type_statement"


def rejection(key: str, /, **details: object) -> tuple[str, str]:
    """Return the reason and the rewrite of a row."""
    reason, rewrite = REJECTIONS[key]
    return reason.format(**details), rewrite.format(**details)

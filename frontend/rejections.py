"""The rejections: for each key, the reason why code cannot be compiled, and the code to write instead.

A reason and a rewrite may hold `{name}`, which the rejecting code fills in. `tests/language/rejected` has a program for
each row, with the rewritten one.
"""

from __future__ import annotations

import ast

from scriptc.frontend.rejections_of_autograd import OF_AUTOGRAD

REJECTIONS: dict[str, tuple[str, str]] = {
    **OF_AUTOGRAD,
    "argument_list_of_other": ("the caller's {what} cannot take {item}", "copy it first: {name}(...)"),
    "argument_of_creation": ("the argument {name}={value} is not supported in compiled code", "leave the argument out"),
    "array_of_other": (
        "a NumPy array cannot be made of {what} in compiled code",
        "use numbers, arrays, and lists or tuples of these",
    ),
    "array_made_at_compile_time": (
        "this operation on a NumPy array from outside is not supported: the array is read-only, or tensors lack its dtype",
        "keep a writable array of a dtype that tensors have",
    ),
    "array_with_tensor": (
        "an operator of a NumPy array and a tensor is not supported",
        "convert the array: torch.from_numpy(a)",
    ),
    "async_function": ("async functions aren't supported in compiled code", "compile a plain function"),
    "aten_operator": ("torch.ops.{name} is not supported yet", "use the function of torch that does the same"),
    "attribute_assigned": (
        "assignment to the attribute '{name}' of {what} is not supported",
        "keep it in an object of a class",
    ),
    "attribute_behind_del": (
        "the attribute '{name}', which the class {class_name} has too, cannot be read after del",
        "assign None instead",
    ),
    "attribute_deleted": ("del of an attribute of {what} is not supported", "assign None to it"),
    "attribute_of_array": (
        "the attribute '{name}' of {what} is not supported in compiled code",
        "use shape, ndim, size, dtype, itemsize, nbytes or T",
    ),
    "attribute_of_exception": (
        "attribute '{name}' of a caught exception is not known here",
        "use str() of the exception",
    ),
    "attribute_of_function": (
        "attribute '{name}' of a function is not supported in compiled code",
        "keep it in a global or an attribute of the module",
    ),
    "attribute_of_outside_assigned": (
        "assignment to the attribute '{name}' of {what} is not supported",
        "keep it in an nn.Module",
    ),
    "autocast_of": (
        "{name} under autocast is not supported",
        "move the call out of autocast, or put it under torch.autocast('cpu', enabled=False)",
    ),
    "batched": (
        "{what} inside of torch.vmap is not supported, which takes elementwise operations alone",
        "use broadcasting in place of torch.vmap",
    ),
    "buffer_beside_attribute": (
        "the attribute '{name}' is set both as a buffer and as something else",
        "set it in one way: by assignment, register_buffer() or nn.Buffer()",
    ),
    "buffer_of_other": (
        "the buffer '{name}' can hold only a tensor or None, but this value may be {what}",
        "store the value in a plain attribute",
    ),
    "builtin_function": ("this builtin is not supported in compiled code", "call it outside of the compiled function"),
    "call_depth": ("more than {depth} nested calls lead to {name}", "write the recursion as a loop"),
    "call_of_async": (
        "{name} cannot be called, since it is an async function",
        "write a plain function, or a generator",
    ),
    "call_of_other": ("{what} is not callable in compiled code", "call a function, a method or a module"),
    "checkpoint_context": ("checkpoint() with a context_fn is not supported", "leave context_fn out"),
    "checkpoint_debug": (
        "checkpoint() with debug=True, or with a determinism_check of your own, is not supported",
        "leave these arguments out",
    ),
    "checkpoint_reentrant": (
        "checkpoint() with use_reentrant=True, which is the default, is not supported",
        "pass use_reentrant=False",
    ),
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
        "use a constant, an argument of the compiled function, or sizes of its arguments",
    ),
    "container_in_itself": (
        "a {container} of unknown length cannot hold itself",
        "store the items that are needed instead",
    ),
    "container_of_complex": (
        "a container that changes, or whose length is known only at run time, cannot hold complex numbers",
        "use one container for the real parts and one for the imaginary parts",
    ),
    "container_of_kinds": ("{what} cannot hold {item} as well", "use one type of items in a {container}"),
    "container_of_lengths": ("{what} that an operation makes cannot hold {item} as well", "use tuples of one length"),
    "container_of_several_used": (
        "a container of values of several kinds cannot be used here: {why}",
        "convert the values to one type first",
    ),
    "container_of_unstorable": (
        "a {container} of {item} cannot grow in compiled code",
        "keep one {container} for each part",
    ),
    "context_variable_kept": (
        "the context variable '{name}' has another value at the end of the call",
        "reset it to its token in compiled code, or set it outside",
    ),
    "container_outside_changed": (
        "this {kind} from outside cannot be changed in compiled code",
        "make a new one: {kind}(...)",
    ),
    "content_too_large": (
        "compiled code cannot use a {kind} from outside of more than {most} bytes: its content may change between "
        "calls",
        "use a tensor: torch.from_numpy()",
    ),
    "content_unguarded": (
        "compiled code cannot use a {kind} from outside: its content may change between calls",
        "use a list",
    ),
    "copy_of_other": ("a copy of this value is not supported", "use clone() for tensors"),
    "decorator_inside": (
        "a context manager cannot decorate a function inside compiled code",
        "use with in the body of the function",
    ),
    "dict_changed": (
        "the dict of an object's attributes, or of a module's parameters, cannot be changed in compiled code",
        "assign to the attribute: self.name = x",
    ),
    "dict_gets_run_time_keys": (
        "a dict with known keys cannot take keys that are known only at run time",
        "begin with an empty dict",
    ),
    "double_star_of_other": ("** of {what} is not supported in compiled code", "pass a dict"),
    "dtype_of_other": ("the dtype {dtype} is not supported", "use a dtype of real numbers"),
    "exported_arguments": (
        "a module of torch.export cannot be called with {what} in compiled code",
        "pass a value of one structure",
    ),
    "exported_without_guards": (
        "a module of torch.export that has no function of guards cannot be called in compiled code",
        "make it by .module(), without check_guards=False",
    ),
    "except_star": ("except* blocks aren't supported in compiled code", "use if and raise"),
    "field_of_format": ("the field '{name}' of a format is not supported", "use plain names and numbers"),
    "flag_of_number": ("a {name} of a number at run time is not supported", "test the bits of the number itself"),
    "form_of_call": ("{name}: {why}", "write the call in a form that takes only these arguments"),
    "format_of_other": ("a format of {what} is not supported in compiled code", "format its numbers"),
    "format_unknown": ("this conversion of the % operator is not supported in compiled code", "use an f-string"),
    "frozen": ("a {name} is frozen, so its attributes cannot change", "make a changed copy with dataclasses.replace()"),
    "function_without_source": ("{name} is not supported yet", "compute it before the call and pass the result in"),
    "function_as_value": (
        "compiled code must know at compile time which function or module {who} is",
        "store a number instead, and choose the function with if where it is called",
    ),
    "functions_in_dict": (
        "a dict whose keys are known only at run time cannot hold {what}",
        "store numbers or strings in it, and choose the function with if where it is called",
    ),
    "functions_in_list": (
        "a list whose length is known only at run time cannot hold functions or modules",
        "store numbers instead, and choose the function with if where it is called",
    ),
    "generator_beside": (
        "this use of {name}, which is a generator, is not supported",
        "walk it in a for loop of its own, or take all items first: list(...)",
    ),
    "generator_seeded": ("the generator cannot be seeded in compiled code", "seed it before the call"),
    "global_assigned": ("assignment to the global '{name}' is not supported", "pass the value in and return it"),
    "hook_always_called": (
        "forward hooks with always_call=True are not supported in compiled code",
        "register the hook without always_call",
    ),
    "hook_returns_other": (
        "a pre-hook with_kwargs returns None or a tuple of positional arguments and a dict of known keys, not {what}",
        "return (args, kwargs)",
    ),
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
    "identity_of_strings": ("compiled code does not know whether two strings are one object", "compare with =="),
    "identity_unknown": (
        "`is` between values that may or may not be one object is not supported yet",
        "compare with ==",
    ),
    "import_of_new": (
        "compiled code cannot import {name}, which is not imported yet",
        "import it at the top of the file",
    ),
    "import_unfollowed": ("this import cannot be followed in compiled code", "import it at the top of the file"),
    "index_of_lists": (
        "torch takes a list that holds tensors or sequences for a tuple, and the length of this one is known only at run time",
        "write x[a, b] for a list of several indices, and x[torch.tensor(rows)] for one",
    ),
    "index_of_other": ("indexing a tensor with {what} is not supported yet", "use ints, slices and tensors"),
    "index_of_unknown_length": (
        "a tuple whose length is known only at run time cannot index a tensor",
        "index one dimension at a time",
    ),
    "int_of_more_than_64_bits": (
        "an int that needs more than 64 bits cannot be used at run time",
        "use a float, or smaller ints",
    ),
    "is_parameter": ("compiled code does not know whether a tensor is a Parameter", "test this before the call"),
    "item_assigned": ("assignment to an item of {what} is not supported yet", "use a list, a dict or a tensor"),
    "item_deleted": ("del of an item of {what} is not supported in compiled code", "use a list or a dict"),
    "iteration_over_one_of_several": ("iteration over {what} is not supported", "test its type first"),
    "iteration_over_outside": ("iteration over {what} is not supported in compiled code", "use a list or a tuple"),
    "kept_and_returned": (
        "'{name}' keeps an object for the next call, and the function returns it as well",
        "return its items, or a copy: dict(d)",
    ),
    "kept_structure": (
        "'{name}' cannot keep {what} after the call ({why})",
        "keep tensors, numbers, strings, None, and lists, tuples and dicts of these",
    ),
    "iterator_walked_again": (
        "an iterator is used again after a loop over it, or in each iteration of a loop: its remaining items are "
        "not known",
        "make a list of the iterator first: list(...)",
    ),
    "key_of_other": (
        "a {container} that changes at run time cannot have {what} as a key",
        "use numbers, or tuples of numbers",
    ),
    "key_of_other_type": (
        "a container with keys of type {held} cannot have a key of type {item}",
        "use one type of keys",
    ),
    "lazy_conjugate_unknown": (
        "this tensor is a lazy conjugate on some paths only",
        "call resolve_conj() on the tensor",
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
        "a list of the caller cannot change its length if its items have several types",
        "pass a list with one type of items",
    ),
    "list_of_known_items_used": (
        "a list whose items must be known one by one cannot be indexed at run time or passed on as a whole: {why}",
        "compute compile-time values from constants, constant sizes and numbers of dims",
    ),
    "list_of_other_length": (
        "a list must have the same length on all paths: {why}",
        "give it one length, or store only numbers, strings or tensors of one type in it and walk it in a loop",
    ),
    "list_without_type_used": ("a list whose items have no common type cannot be used here", "use a tuple"),
    "logger_without_name": (
        "the logger {name} is not what logging.getLogger() gives for its name",
        "use a logger of logging.getLogger()",
    ),
    "logging_set_up": (
        "compiled code cannot set up logging",
        "call logging.basicConfig() outside, before the first call",
    ),
    "loop_does_not_end": (
        "the numbers of this loop must be known at compile time, but {count} iterations do not end the loop",
        "index a list or a tensor by the counter, which needs no unrolling",
    ),
    "loop_without_type": (
        "a value that this loop carries from one iteration to the next has no common type",
        "give each name one type",
    ),
    "attention_backend": (
        "sdpa_kernel() without SDPBackend.MATH is not supported: eager refuses calls that its other kernels cannot compute",
        "add SDPBackend.MATH to its list",
    ),
    "made_is_kept": ("{what} made in compiled code cannot be kept for the next call", "keep a tuple"),
    "manager_with_other_yields": (
        "a generator that serves as a context manager must yield exactly once on every path",
        "write the context manager as a class",
    ),
    "numpy_function": (
        "numpy.{name} is not supported",
        "use another function of NumPy, or torch on torch.from_numpy(a)",
    ),
    "numpy_random": (
        "numpy.random.{name} is not supported",
        "use rand, random, uniform, randn, normal, randint, permutation, shuffle or choice of np.random",
    ),
    "slice_of_array": (
        "a slice of a NumPy array with a computed step, or a negative step beside arrays, is not supported",
        "index in two steps, and use known steps",
    ),
    "tensor_in_numpy": (
        "a function of NumPy takes no tensor in compiled code",
        "pass an array: x.numpy()",
    ),
    "view_as_bool": ("a view of other elements as bools is not supported", "write x != 0, or x.bool()"),
    "mask_without_dims": ("index_put with a mask without dimensions is not supported", "write x[mask] = value"),
    "memoized_change": (
        "{name} caches its results, so it runs once for equal arguments, but compiled code runs it in each call",
        "leave the cache out, or change things outside of {name}",
    ),
    "memoized_recursion": (
        "{name} calls itself and caches its results, but compiled code cannot cache results for run-time arguments",
        "fill a list or a dict in a loop",
    ),
    "method_of_builtin": ("{kind}.{name} is not supported yet", "compute it before the call and pass the result in"),
    "method_of_tensor": ("Tensor.{name} is not supported yet", "use another method, or compute it before the call"),
    "module_replaced": ("a module cannot be replaced in compiled code", "choose between modules with if"),
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
        "make the module outside, and store it in another module",
    ),
    "object_of_other_class": ("making a {name} is not supported in compiled code", "make it outside and pass it in"),
    "object_replaced": ("an assignment to {name} of an object is not supported", "set its attributes: setattr(x, name, value)"),
    "one_of_several_used": ("a value that is {what} cannot be used here", "convert it, or test its type first"),
    "operator_on_others": ("{operator} on a {a} and a {b} is not supported yet", "convert one of them"),
    "order_of_set": ("the order of a set of strings differs from run to run", "walk sorted(...) of it"),
    "other_keys_on_a_path": (
        "{what} has different keys or attributes on the paths that meet here",
        "set the same ones on all paths",
    ),
    "out_of_other_rank": (
        "out= of another rank than the result is not supported",
        "pass a tensor of the result's shape",
    ),
    "outer_variable_assigned": (
        "assignment to '{name}' of a function outside the compiled code is not supported",
        "pass the value in and return it",
    ),
    "own_getattr": (
        "attribute '{name}' comes from a __getattr__ of {class_name}, which is not followed",
        "read the attribute in a method",
    ),
    "own_setattr": (
        "{class_name} has a {method} of its own, which is not followed",
        "assign in a method that is called outside",
    ),
    "parameter_replaced": ("a parameter cannot be replaced in compiled code", "write into it: p.copy_(new)"),
    "paths_differ": ("{who} is {what} on paths that meet here", "use one type on all paths"),
    "paths_leave_other_content": (
        "the content of a list, dict or object is {what} on paths that meet here",
        "use one length or the same keys on all paths, or items of one type",
    ),
    "pattern": ("this pattern is not supported in compiled code", "use if and elif"),
    "property_of_other": (
        "the property '{name}' is not a Python function",
        "write the property as a function in Python",
    ),
    "queue_of_kinds": (
        "the items of this deque from outside have several types, or a type that a run-time list cannot hold",
        "store only numbers, strings, tensors, or tuples of one structure in the deque",
    ),
    "queue_out_of_reach": (
        "compiled code reads a deque that changes between calls only from an argument, an attribute, a global, or "
        "a list or dict in one of these",
        "store the deque in an attribute",
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
    "raised_with_other_attributes": (
        "a {name} is raised with different attributes in different places",
        "set the same attributes in its __init__",
    ),
    "random_of_dtype": (
        "random numbers of this distribution in a tensor of {dtype} are not supported",
        "draw in float32 and convert",
    ),
    "random_without_bounds": ("random_() without bounds is not supported", "give the bounds: x.random_(0, n)"),
    "reading_does_not_end": (
        "{name} was read {count} times, and its types still change: {why}",
        "give each name, list and dict one type, and split the function",
    ),
    "record_field_of_kinds": (
        "'{name}' of a {owner} whose identity is known only at run time is {held} and {item}",
        "give the attribute or key one type",
    ),
    "record_loses_key": (
        "{what} whose identity is known only at run time loses a key",
        "set the value of the key to None",
    ),
    "record_late_none": (
        "'{name}' of a {owner} whose identity is known only at run time is missing at first and may be None",
        "set the attribute or key where the object is made",
    ),
    "record_new_key": (
        "{what} whose identity is known only at run time gets a new key '{name}'",
        "set the key where the object is made",
    ),
    "record_of_many": (
        "a {name} whose identity is known only at run time holds more than {most} values",
        "store some of them in a list",
    ),
    "record_stored_in_init": (
        "{name} is stored somewhere in its own __init__, or in itself",
        "store the object after the call that makes it",
    ),
    "recursion_captures": (
        "{name} calls itself and uses a value that cannot be passed to it",
        "pass what it uses as arguments",
    ),
    "recursion_of_ever_new_kinds": (
        "{name} calls itself with ever new types of arguments",
        "pass the parts that differ as numbers, tensors or lists of them",
    ),
    "recursion_returns": (
        "{name} calls itself, and such a function cannot return this value",
        "return tensors, numbers, lists of one type, or tuples of these",
    ),
    "recursion_with_object_twice": ("an object is passed twice to {name}, which calls itself", "pass it once"),
    "recursion_with_structure": (
        "{name} calls itself to an unknown depth, and such a function cannot take {what} of the caller",
        "pass the tensors, numbers and lists in the object",
    ),
    "replace_of_outside": (
        "dataclasses.replace() of an object from outside is not supported",
        "make it in the compiled code",
    ),
    "repr_of_exception": ("the repr of an exception is not supported in compiled code", "use str() of it"),
    "reshape_in_place": (
        "{name}_() changes the shape of a tensor that may have other names",
        "write x = x.{name}(...)",
    ),
    "resized_bytes": ("resizing of uint8 images is not supported", "convert to float, resize, round and convert back"),
    "returned_twice": ("the returned value holds one object in two places", "return a copy in one: copy.copy(...)"),
    "returns_differ": ("the function returns {why}", "return one type of value on all paths"),
    "round_of_tensor": ("round() of a tensor is not supported", "use torch.round"),
    "same_object_on_a_path": (
        "{what} cannot be used here, since it is the same object as another one on some path",
        "copy the object",
    ),
    "set_of_items": ("a set of such items supports only membership tests", "use numbers, or tuples of numbers"),
    "source_not_found": ("{module}.{name} cannot be followed: {why}", "define it in a file"),
    "state_of_many_kinds": ("'{name}' keeps values of more and more types from call to call", "use one type of values"),
    "state_of_structure": (
        "a build ahead of time cannot keep {what} in '{name}'",
        "keep tensors, numbers, strings, lists of one kind of these, and tuples and dicts with known keys",
    ),
    "state_of_two_kinds": ("'{name}' keeps values of several types from call to call: {why}", "use one type of values"),
    "storage_offset": (
        "compiled code does not know the storage offset of a view, or of a tensor from outside",
        "pass the offset as an argument",
    ),
    "subscript_of_module": ("this subscript of a {name} is not supported yet", "name the module as an attribute"),
    "subscript_of_other": ("this subscript of {what} is not supported yet", "use a list, a tuple, a dict or a tensor"),
    "special_method_of_builtin": (
        "{kind}.{name} is not supported",
        "write the operator or function instead: xs[i] = v, del xs[i], a + b, str(x)",
    ),
    "tensor_as_key": ("a tensor cannot be the key of a dict in compiled code", "use key.item()"),
    "tensor_of_tensor": ("torch.tensor of a tensor is not supported", "use clone()"),
    "tensor_outside": ("the tensor {name} cannot be used in compiled code: {why}", "use a dense tensor on the CPU"),
    "text_of_address": (
        "the text {text} contains an address, which differs between processes",
        "give its class a __repr__",
    ),
    "text_of_other": ("the text of {what} is not supported in compiled code", "use its numbers"),
    "text_of_parameter": ("the text of a parameter is not supported in compiled code", "print p.detach()"),
    "too_long_to_unroll": (
        "the counter of this loop must be known at compile time, but {count} iterations are too many to unroll",
        "index a list or a tensor by the counter, which needs no unrolling",
    ),
    "repeated_too_often": (
        "{count} repeated items are too many, since they have several types or are neither numbers nor tensors",
        "repeat items of one type",
    ),
    "torchscript": (
        "{name} is {kind}: TorchScript keeps no Python to compile",
        "use what was given to torch.jit.script or torch.jit.trace",
    ),
    "transpose_of_many_dims": ("{name} of a tensor of {rank} dims is not supported", "use permute or mT"),
    "tuple_of_kinds": (
        "a tuple whose length is known only at run time can hold only one type of items",
        "use one type of items, or a tuple for each",
    ),
    "tuple_of_unstorable": (
        "a tuple of {items} cannot change its length in compiled code",
        "keep one tuple for each part",
    ),
    "tuples_of_kinds": (
        "a tuple whose length is known only at run time cannot hold a {left} and a {right}",
        "use one type of items, or a tuple for each",
    ),
    "two_names_of_an_object": (
        "an object that one path makes has two names where paths meet",
        "use one name for the object",
    ),
    "type_statement": (
        "type statements inside a function aren't supported in compiled code",
        "define the alias at the top of the file",
    ),
    "view_of_reversed_array": (
        "a view of, or a write to, a NumPy array that runs backward is not supported",
        "make a copy: a[::-1].copy()",
    ),
    "view_of_read_only_array": (
        "a view of, or a write to, a NumPy array that is read-only is not supported",
        "make a copy: np.broadcast_to(a, shape).copy()",
    ),
    "with_of_other": (
        "with {what} is not supported in compiled code",
        "use torch.no_grad(), contextlib.suppress(), or an object with __enter__ and __exit__",
    ),
    "written_tensor_of_no_attribute": (
        "a build ahead of time can keep a written tensor only as one attribute, but '{name}' is none or has two names",
        "make it one attribute, or pass it as an argument",
    ),
    "yield": ("a compiled function cannot be a generator itself", "append to a list and return it"),
    "yield_within_try": (
        "a loop over {name}, which yields inside a try or with statement, is not supported",
        "yield outside of it, or take all items first: list(...)",
    ),
    "zip_strict": ("zip of these sequences is not supported with strict=True", "compare their lengths before"),
}  # fmt: skip

STATEMENTS_AND_EXPRESSIONS: dict[type[ast.AST], str] = {
    ast.AsyncFunctionDef: "async_function",
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

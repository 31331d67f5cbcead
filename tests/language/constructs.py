"""The programs that show each construct of docs/reference/language.md, by the first cell of its row.

A file whose programs alone show a construct declares the construct itself (`language.cases.construct`).

A program of this folder is named MODULE.NAME, a refused program by its name in `rejected`. A comment names the
tests of a row without programs.
"""

from __future__ import annotations

ACCEPTED: dict[str, str] = {
    "`:=`": (
        "statements.walrus statements.walrus_in_comprehension iterators.bound_by_generators "
        "iterators.unbound_in_generators iterators.carried_by_comprehensions"
    ),
    "annotations, also without a value": "statements.annotations",
    "augmented assignment, `//=`, `@=`": "statements.augmented statements.augmented_matmul modules.MaskedLinear",
    "`global` for reading": "statements.global_read",
    "`del`": "statements.deletions",
    "`for` and `while` with `else`": "statements.for_else statements.while_else",
    "chained comparisons, `a if c else b`": "statements.chained_comparison statements.conditional_types",
    "starred targets and calls, keyword-only parameters, defaults, `**kwargs`": (
        "statements.starred_targets statements.starred_calls statements.arguments_that_are_missing "
        "statements.calls_without_arguments"
    ),
    "names bound on some paths only": "statements.unbound_on_a_path",
    "names bound to another type": "statements.rebinding_to_another_type",
    "`while` loops whose body or condition needs a known counter or rank": (
        "unrolled.Weights unrolled.Layers unrolled.rank_behind_a_loop_that_begins_with_a_number "
        "unrolled.dims_to_add unrolled.dims_to_remove unrolled.normal_of_several_variables"
    ),
    "`print`": "expressions.printed",
    "nested `def`, `lambda`, `nonlocal`": (
        "statements.made_in_comprehensions statements.made_on_one_path statements.functions_that_functions_return "
        "statements.functions_that_objects_keep statements.functions_of_one_source_call_each_other "
        "statements.functions_by_keys_of_run_time statements.nonlocal_counter statements.nonlocal_behind_joins "
        "statements.nonlocal_tensor statements.closures_see_later_values statements.functions_made_before_an_error"
    ),
    "`__code__.co_argcount`, `__defaults__` and `__name__` of nested functions": "statements.parameters_that_functions_have",
    "decorators of nested functions, `functools.wraps`": (
        "arguments.decorated_inside arguments.arguments_that_python_refuses"
    ),
    "functions decorated with `torch.no_grad()`": "statements.decorated",
    "recursion: functions, methods and closures that call themselves, also through others": (
        "recursion.factorial recursion.fibonacci recursion.mutual recursion.ackermann recursion.quicksort "
        "recursion.sorts_an_argument recursion.recursive_halving recursion.closure recursion.closure_that_counts "
        "recursion.memo_list recursion.flood_fill recursion.none_on_some_paths recursion.function_returned "
        "recursion.object_changed_by_the_callee recursion.tree_over_indices recursion.TreeLSTM recursion.too_deep "
        "recursion.too_deep_but_caught recursion.never_returns recursion.raised_at_the_bottom "
        "recursion.list_given_empty recursion.state_that_begins_as_none recursion.object_returned "
        "recursion.dict_changed_by_the_callee recursion.default_that_is_none recursion.left_through_finally "
        "recursion.results_of_several_kinds recursion.captures_what_may_be_unbound "
        "recursion.ends_inside_a_generator_that_calls_itself"
    ),
    "recursion over a known tree of objects, depth or tuple": (
        "recursion.TreeSum recursion.Nest recursion.known_and_unknown recursion.over_a_tuple "
        "recursion.functions_of_one_source_are_several"
    ),
    "`functools.lru_cache`, `functools.cache`": "libraries.remembered_results",
    "`assert`, `raise`": "statements.assertions statements.raising expressions.messages",
    "`try` with `except`, `else`, `finally`, nested, left by `return`, `break` or `continue`": (
        "handlers.object_changed_by_an_inner_finally handlers.finally_without_code handlers.raised_and_caught_at_once "
        "exceptions.division exceptions.chosen_by_class exceptions.with_else exceptions.else_is_not_guarded "
        "exceptions.finally_always exceptions.return_through_finally exceptions.loops_through_finally "
        "exceptions.finally_returns exceptions.nested exceptions.in_a_loop exceptions.counts_before_the_exception "
        "exceptions.catches_everything exceptions.raise_behind_a_handler exceptions.asserted "
        "exceptions.shapes_that_do_not_fit exceptions.bound_on_some_ways "
        "raised.ends_behind_a_try_inside_a_generator"
    ),
    "handlers see names, objects and shared variables as the body left them": (
        "exceptions.tensors_written_before exceptions.object_changed_before exceptions.object_made_in_the_body "
        "exceptions.variable_of_a_closure exceptions.shared_variable_and_recursion"
    ),
    "`raise` of new and caught exceptions, bare `raise`, `raise … from`": (
        "exceptions.raised_again exceptions.leaves_with_what_was_raised exceptions.own_classes "
        "exceptions.raised_in_a_function exceptions.kept_for_later exceptions.made_first "
        "exceptions.nothing_to_raise_again"
    ),
    "`str(e)`, `isinstance(e, T)`, `type(e)`, `type(e).__name__`, `e.__class__`": (
        "exceptions.message_passed_on exceptions.printed exceptions.class_of_what_was_caught "
        "kinds.classes_as_attributes"
    ),
    "attributes, `args` and methods of exceptions whose class has an `__init__`": (
        "raised.attributes raised.by_a_base_class raised.asked_for_its_class raised.attribute_that_only_some_have "
        "raised.leaves raised.raised_again raised.from_another raised.in_a_loop raised.through_finally"
    ),
    "`with`": (
        "exceptions.manager exceptions.manager_around_an_error_that_is_known exceptions.manager_that_lets_pass "
        "exceptions.left_from_inside exceptions.suppressed "
        "exceptions.not_suppressed exceptions.managers_that_do_nothing exceptions.generator_as_manager "
        "managers.left_by_return managers.left_by_break managers.left_in_every_way managers.two_left_at_once "
        "managers.left_inside_finally managers.left_through_finally managers.unbound_in_managers "
        "managers.one_of_several managers.generator_in_a_wrapper managers.defined_inside"
    ),
    "None beside other values": (
        "optional.bound_on_a_path_that_always_raises optional.items_of_a_list_that_is_always_empty "
        "optional.state_that_begins_as_none optional.state_of_a_pair optional.optional_argument optional.asserted "
        "optional.early_return optional.refined_by_and optional.refined_by_while optional.used_without_test "
        "optional.attribute_of_none"
    ),
    "an int and a float in one variable": "optional.int_becomes_float optional.int_or_float",
    "a tensor whose rank changes": "optional.rank_changes dims.of_one_of_several_ranks",
    "`torch.cat`, `torch.stack` and the like of tensors of several ranks (`y.squeeze(1)`)": (
        "kinds.joined_with_what_may_have_another_rank kinds.what_torch_takes_of_some_kinds_alone "
        "kinds.what_torch_takes_of_some_kinds_where_nobody_reads_it kinds.stacked_with_what_may_have_another_rank "
        "kinds.joined_behind_a_loop kinds.joined_vectors_and_matrices kinds.joined_places_that_a_loop_fills "
        "kinds.joined_places_of_several_ranks kinds.nothing_to_join kinds.LastState kinds.StepByStep"
    ),
    "loops over, unpacking and stars of one of several sequences": (
        "kinds.pieces_of_what_may_have_another_rank kinds.tuples_of_several_ranks "
        "kinds.walked_sequences_of_several_kinds kinds.one_of_several_grows_while_it_is_walked "
        "kinds.unpacked_sequences_of_several_kinds kinds.indices_of_several_kinds "
        "kinds.starred_arguments_of_several_kinds kinds.composite_functions_of_what_may_have_another_rank "
        "kinds.empty_one_of_several_walked kinds.joined_with_empty_vectors "
        "kinds.records_whose_fields_have_several_ranks kinds.tuples_of_several_lengths_beside_tensors"
    ),
    "comparison of tuples and dataclasses that hold tensors": (
        "kinds.found_among_hypotheses kinds.tuples_with_tensors_compared kinds.equal_tuples_of_other_tensors"
    ),
    "strings and functions chosen at run time among known ones": (
        "optional.string_of_several optional.function_of_several"
    ),
    "functions that return different types": "optional.returned_kinds",
    "lists and dicts of unknown length with values of several kinds": (
        "unions.numbers_and_texts unions.ints_and_floats unions.four_kinds unions.in_pairs unions.in_objects "
        "unions.values_of_dicts unions.searched unions.used_as_one_kind unions.ranks "
        "unions.lists_returned_twice dicts.items_of_one_kind_under_each_key"
    ),
    "classes: inheritance, `super()`, operators, `__call__`, attributes set on some paths": (
        "objects.attributes_set_by_methods_in_a_loop objects.attribute_that_a_loop_sets "
        "objects.attributes_of_some_paths objects.attribute_of_an_argument_on_some_path objects.inheritance "
        "objects.tensors_of_classes objects.shared_object objects.attributes objects.object_shared_by_a_closure "
        "objects.object_made_on_paths objects.objects_in_a_list objects.object_replaced_in_a_loop "
        "objects.object_bound_on_some_paths objects.tuple_of_objects objects.returns_an_object_early "
        "classes.made_by_metaclasses classes.attributes_that_are_not_bound classes.names_of_optional_attributes "
        "classes.too_many_arguments "
        "objects.results_of_several_kinds_with_objects"
    ),
    "dataclasses made and changed in compiled code": (
        "objects.dataclass_in_a_loop objects.dataclass_returned objects.frozen"
    ),
    "`InitVar` of dataclasses": "specials.values_of_init_alone",
    "named tuples, `_replace`, methods, properties": "objects.named_tuples",
    "named tuples with `__new__`, properties, `_make`; `cached_property`; descriptors in Python": (
        "libraries.tuples_with_code libraries.cached_properties classes.data_descriptors classes.functions_are_descriptors "
        "classes.operators_of_named_tuples classes.named_tuples_of_other_lengths classes.replaces_no_field"
    ),
    "abstract classes, `__slots__`": (
        "classes.abstract_classes classes.slots_take_their_names_alone classes.attribute_of_a_class_with_slots"
    ),
    "operators, comparisons and conversions that a class defines, `NotImplemented`": (
        "specials.beside_tensors specials.asked_from_the_right specials.derived_class_first "
        "specials.left_to_nobody specials.numbers_of_objects specials.no_number specials.truth_that_is_none "
        "specials.unequal_kinds"
    ),
    "sorting of objects by their `__lt__`": "specials.sorted_objects",
    "enums": "objects.enums objects.members_by_their_values",
    "`Color(n)`, `for c in Color` of enums": (
        "specials.members_by_value specials.members_for_missing_values specials.all_members"
    ),
    "objects in lists and dicts that grow, or that refer to one another": (
        "records.beam records.chains records.changed_through_another_name records.same_and_equal records.returned "
        "records.one_object_in_two_places records.in_dicts records.pairs_with_objects "
        "records.one_of_several_objects records.returned_by_its_first_name records.missing_attribute "
        "records.object_in_object records.popped "
        "records.hypotheses_of_each_row records.changed_before_an_exception records.by_recursion "
        "records.ordered_dataclasses records.lists_of_objects_in_dicts records.attributes_that_some_lack "
        "records.cache_of_layers"
    ),
    "`copy.copy` of lists, dicts, sets and objects; `copy.deepcopy`, also of tensors": (
        "records.same_and_equal copies.of_a_beam copies.of_what_is_held_twice copies.of_what_grows "
        "copies.of_the_callers copies.of_globals"
    ),
    "lists and dicts from outside whose class has methods of its own": (
        "objects.lists_and_dicts_with_code objects.list_with_code_as_an_argument "
        "dicts.dicts_of_a_class_of_the_users"
    ),
    "lists: all methods, slices, `+`, `*`, comparison, `in`, `del`": (
        "lists.methods lists.index_and_remove lists.pop lists.slices lists.slice_changes lists.slices_with_steps "
        "lists.operators lists.nested lists.lists_of_tensors lists.repeated lists.spliced lists.flags "
        "lists.flags_in_lists lists.aliases lists.optional_items lists.grid_of_lists lists.found_by_identity "
        "lists.tensors_found_by_identity lists.tensors_of_lists lists.tensors_of_lists_that_may_be_empty "
        "lists.masks_of_another_size lists.written_and_read_in_other_places lists.lists_of_lists_that_begin_empty "
        "lists.repeated_in_place lists.starred_displays lists.displays_in_order lists.loop_over_a_number "
        "lists.tensors_and_none_found_by_identity lists.extended_beside_none lists.one_from_outside_or_one_with_none "
        "lists.indexed_by_lists_that_may_be_empty lists.changed_as_one_of_two lists.items_set_as_one_of_two "
        "lists.changed_through_what_holds_it lists.changed_by_the_name_of_a_later_iteration "
        "lists.added_to_one_from_outside"
    ),
    "lists of items of different kinds, also functions and modules": (
        "known_lengths.none_replaced_in_a_loop known_lengths.items_of_all_kinds known_lengths.wrapped_once_for_each_item "
        "known_lengths.states_of_several_classes known_lengths.Layers known_lengths.sizes_put_together "
        "known_lengths.parts_taken_apart known_lengths.walked_while_it_grows "
        "known_lengths.raises_what_lists_raise known_lengths.shared_between_names "
        "known_lengths.other_contents_on_some_path known_lengths.changed_after_it_was_appended "
        "known_lengths.grows_up_to_a_number"
    ),
    "a list of the caller whose items become values of several kinds": "lists.states_that_begin_as_none",
    "sequences of known length with more than 128 numbers or tensors": (
        "known_lengths.long_sequences known_lengths.repeated_by_what_is_no_int"
    ),
    "a list that grows while a loop walks it": "lists.appended_while_walked",
    "lists of tuples": "pairs.pairs_of_numbers pairs.pairs_with_tensors pairs.nested_pairs pairs.sorted_pairs",
    "named tuples in lists and dicts that grow": "records.named_tuples",
    "tuples of unknown length": (
        "tuples.grown tuples.grown_in_place tuples.indexed tuples.compared tuples.searched tuples.walked "
        "tuples.unpacked tuples.repeated tuples.of_tensors tuples.of_texts tuples.of_pairs tuples.of_bools "
        "tuples.objects_behind_many_numbers "
        "tuples.put_in_front tuples.unpacked_around_a_star tuples.none_or_tuple tuples.returned_by_recursion "
        "tuples.as_arguments tuples.does_not_change tuples.has_no_append tuples.fixed_lengths_stay"
    ),
    "tuples of unknown length in lists, and as keys of dicts and sets": (
        "tuples.in_lists tuples.keys_of_dicts tuples.members_of_sets tuples.keys_with_more lookups.pairs_of_prefixes "
        "lookups.long_prefixes lookups.path_of_prefixes lookups.copies_of_items lookups.values_of_numbers "
        "lookups.values_of_many_numbers"
    ),
    "items of tuples at a run-time index": "iterators.item_of_a_pair_by_a_counter",
    "`sort`, `sorted` with `key` and `reverse`": (
        "lists.sorted_by_pairs lists.sorting lists.sort_by_other lookups.first_of_sorted lookups.first_of_many"
    ),
    "`sum`, `min`, `max`, `any`, `all` over lists and generators": (
        "lists.sums_of_floats lists.reductions lists.extremes expressions.short_circuits"
    ),
    "`bisect`: `bisect_left`, `bisect_right`, `insort_left`, `insort_right`": "sequences.bisected",
    "`heapq`": "lists.heaps lists.largest_and_smallest lists.shortest_paths",
    "`collections.deque`: all methods": (
        "queues.bounded queues.breadth_first queues.of_tensors queues.methods queues.returned queues.too_short "
        "queues.passed queues.passed_twice queues.in_containers queues.tensors queues.changed_while_it_is_walked "
        "queues.changed_by_what_walks_it"
    ),
    "`list[int]()`, `typing.OrderedDict()`, `Box[int](x)`": "constructors.by_types_with_arguments",
    "dicts with known keys": "objects.dicts objects.dict_in_branches objects.dict_carried_by_a_loop",
    "dicts with known keys in lists and objects": "records.dicts_with_known_keys records.dicts_in_objects",
    "keys that are added to or deleted from such dicts": (
        "records.segments_of_speech records.seconds_of_speech records.key_that_goes "
        "records.key_of_another_kind_that_comes records.key_on_some_paths"
    ),
    "dicts with run-time keys: all methods, `|`, comprehensions": (
        "dicts.counts dicts.missing_keys dicts.deleted dicts.popped dicts.updated dicts.dicts_of_objects_with_keys "
        "dicts.set_defaults "
        "dicts.global_table dicts.made_on_paths dicts.grown_by_a_loop dicts.compared "
        "dicts.known_keys_replaced_by_run_time_keys dicts.known_keys_on_one_path "
        "lookups.counted_and_changed lookups.entered_between_gaps lookups.one_of_two_dicts"
    ),
    "lookup by equal keys": (
        "dicts.equal_keys dicts.float_keys dicts.tuple_keys dicts.tuple_key_missing dicts.string_keys "
        "dicts.unhashable dicts.slices_as_keys"
    ),
    "`hash` of numbers, of tuples of numbers, of frozen dataclasses of these, of known texts": (
        "dicts.hashes dicts.hashes_of_dataclasses dicts.hashes_of_this_process"
    ),
    "values of dicts": (
        "dicts.tensors dicts.pairs_as_values dicts.none_as_value dicts.none_beside_tensors dicts.nested "
        "dicts.shared dicts.cache_of_states dicts.named_tensors"
    ),
    "iteration over dicts": (
        "dicts.changed_while_walked dicts.left_before_the_change_is_noticed dicts.walked dicts.extremes "
        "dicts.while_it_has_items"
    ),
    "`keys()`, `values()`, `items()`": (
        "views.shown_later views.shown_later_with_run_time_keys views.emptied views.new_values_while_walked "
        "views.new_values_while_walked_backward_or_strictly views.keys_that_come_while_walked_backward "
        "views.tensors_replaced_while_walked views.keys_that_come_and_go views.keys_that_come_while_a_comprehension_walks "
        "views.keys_that_come_while_a_generator_walks views.left_before_the_end views.keys_that_some_paths_add views.ordered "
        "views.iterators views.iterators_over_changed_dicts views.set_operators views.equality views.texts views.no_tuples "
        "views.not_subscriptable views.without_index views.unpacked views.passed_to_functions"
    ),
    "`defaultdict`, `Counter`, `OrderedDict`": (
        "dicts.default_dicts dicts.absent_keys_of_default_dicts dicts.made_in_each_iteration "
        "dicts.default_dicts_with_known_keys dicts.counters sets.operators_of_counters dicts.ordered "
        "dicts.moved_to_an_end dicts.equal_items_and_order arguments.keywords_of_any_name"
    ),
    "sets, `frozenset`: all methods and operators": (
        "objects.sets sets.operators sets.changed_in_place sets.methods sets.removed sets.popped "
        "sets.changed_while_walked sets.frozen sets.reductions sets.display_that_changes sets.seen_before "
        "sets.reachable sets.wrong_operands sets.displays_of_others"
    ),
    "iteration over sets": (
        "sets.order sets.order_of_floats sets.order_of_tuples sets.set_of_a_dict sets.strings "
        "sets.strings_from_outside sets.tuples_with_strings_from_outside"
    ),
    "containers and objects as arguments": (
        "arguments.words_numbered arguments.keys_deleted_from_the_callers arguments.tensors_found_by_words "
        "arguments.list_of_pairs arguments.list_of_pairs_with_tensors arguments.list_of_named_tuples "
        "arguments.list_with_none arguments.list_of_numbers_with_none arguments.lists_of_lists_of_tensors "
        "arguments.list_of_dicts arguments.list_of_different_items arguments.dict_with_known_keys "
        "arguments.items_deleted_and_moved arguments.changed_before_an_error arguments.dict_with_run_time_keys "
        "arguments.dict_with_tuple_keys arguments.empty_dict_that_is_filled arguments.dict_of_dicts "
        "arguments.set_argument arguments.frozen_set_argument arguments.dataclass_changed "
        "arguments.optional_field arguments.changed_before_it_raises arguments.shape_from_an_attribute "
        "arguments.frozen_config arguments.tree_of_objects arguments.objects_that_refer_to_one_another "
        "arguments.one_object_twice arguments.one_of_two_arguments arguments.new_object_stored "
        "arguments.containers_stored arguments.value_of_several_kinds arguments.enum_argument "
        "arguments.objects_in_containers arguments.nested_results arguments.recursion_over_a_tree "
        "arguments.recursion_over_numbered_children arguments.items_by_counters_of_unknown_loops "
        "arguments.tensors_by_name arguments.large_vocabulary"
    ),
    "lists, tuples, dicts, `nn.ModuleList` and `nn.ModuleDict` from outside at a run-time index or key": (
        "objects.chosen_at_run_time objects.Routed objects.table_read_in_a_decorated_function "
        "objects.keys_chosen_at_run_time objects.Experts objects.Named"
    ),
    "`zip`, `enumerate`, `reversed`, `range` of known and unknown lengths": (
        "lists.strict_zips lists.strict_zip_of_known lists.zips lists.ranges lists.ranges_backwards_and_by_index "
        "sequences.lengths_of_long_ranges sequences.lengths_of_known_long_ranges "
        "sequences.slices_of_ranges lists.slices_of_globals unrolled.Zipped unrolled.Cached unrolled.Residual "
        "unrolled.ResidualOfRows unrolled.NamedByCounters"
    ),
    "`zip(*rows)`": (
        "iterators.columns_of_two_ranks iterators.columns_as_lists iterators.columns_of_places_that_were_filled "
        "iterators.walks_columns iterators.columns_of_a_dict iterators.rows_that_are_unbound"
    ),
    "`iter`, `next`": (
        "known_lengths.iterators known_lengths.iterators_end iterators.goes_on_behind_break "
        "iterators.asked_inside_its_loop iterators.walked_with_else iterators.rows iterators.first_of_others "
        "iterators.list_changes_length_meanwhile iterators.classes_of_iterators iterators.made_on_several_paths "
        "iterators.some_and_the_rest iterators.one_on_each_path iterators.refused_before_they_are_walked"
    ),
    "generator expressions": (
        "iterators.functions_in_comprehensions_of_the_same_variable iterators.asked_no_further_than_the_first "
        "iterators.what_would_raise_is_not_asked_for iterators.what_changes_between_items "
        "iterators.several_fors_with_else iterators.generators_in_generators "
        "iterators.functions_in_comprehensions iterators.variables_read_when_walked"
    ),
    "`map`, `filter`, `functools.partial`, `functools.reduce`, `key=str.lower`": (
        "expressions.partials known_lengths.reduced_without_a_start expressions.known_sequences iterators.mapped "
        "iterators.filtered iterators.methods_named_through_their_class "
        "iterators.outside_changed_through_its_class"
    ),
    "`itertools`, except `tee` and `batched`": (
        "expressions.itertools_of_known sequences.products sequences.chains sequences.accumulated "
        "sequences.sliced sequences.paired sequences.chosen sequences.some_of_the_items sequences.grouped "
        "sequences.without_an_end sequences.sliced_iterators sequences.of_known"
    ),
    "`operator`": (
        "expressions.operators_by_name expressions.items_by_operators expressions.joined_by_operator "
        "expressions.own_classes_joined_by_operator"
    ),
    "lists of dims that a `for` loop builds": "unrolled.dims_that_a_loop_collects",
    "lists of dims from comprehensions, slices, `del`, `remove`, sorting": (
        "dims.left_out_by_a_test dims.sliced dims.deleted_and_sorted dims.removed dims.sorted_by_a_key "
        "dims.sorted_as_far_as_known dims.left_out_by_an_argument dims.dims_of_a_size dims.pads_as_pairs "
        "dims.shapes_of_several_ranks dims.dims_from_a_range_in_a_zip"
    ),
    "kernel sizes, strides and indices into values of several types that are computed from sizes": (
        "dims.kernel_of_a_size dims.kernel_of_the_size_of_an_item dims.kernel_of_the_size_of_an_appended_item "
        "dims.kinds_by_a_size "
        "dims.kinds_where_a_size_decides"
    ),
    "strings made at run time: `+`, `*`, `%`, `in`, comparison, indices, slices, iteration": (
        "strings.tokenized strings.state_machine strings.slices strings.index strings.comparisons "
        "strings.operators strings.unpacked strings.one_of_several strings.grown_from_known strings.bad_operand"
    ),
    "methods of strings": (
        "strings.splits strings.cases_of_letters strings.tests strings.searches strings.index_of strings.padded "
        "strings.stripped strings.bad_join"
    ),
    "`ord`, `chr`, `hex`, `oct`, `bin`, `repr`, `ascii`, `int(s)`, `int(s, base)`, `float(s)`, `str`": (
        "strings.characters strings.ord_of_any strings.ints strings.ints_of_bases strings.floats "
        "strings.texts_of_values strings.texts_of_containers strings.texts_of_named_tuples strings.text_of_list"
    ),
    "f-strings, `format`, `str.format`, `%`": (
        "strings.formats strings.formats_of_texts strings.formats_made_at_run_time strings.bad_format_of_float "
        "strings.numbers_of_tensors_and_objects_in_percents"
    ),
    "lists of strings, strings in tuples in lists": "strings.lists_of_texts strings.pairs_of_texts strings.word_counts",
    "strings as arguments": "strings.chosen_by_argument",
    "strings in exceptions and prints": (
        "libraries.tensors_in_messages strings.raised strings.raised_key strings.printed"
    ),
    "texts of tensors in f-strings, `str`, `repr` and `print`": "strings.texts_of_tensors",
    "`logging`": "",  # tests/test_logging.py
    "`divmod`, `pow`, `round`, `min`, `max`, `n.bit_length()`, `n.bit_count()`, `f.is_integer()`": (
        "lists.methods_of_numbers expressions.divmods expressions.divmods_by_zero expressions.powers "
        "expressions.modular_powers expressions.remainders_of_integers_alone expressions.powers_of_tensors "
        "expressions.rounding expressions.rounding_to_digits expressions.mixed_extremes "
        "expressions.numbers_beyond_single_precision"
    ),
    "`math`": (
        "expressions.math_functions expressions.math_of_two expressions.math_of_ints expressions.combinatorics "
        "expressions.math_prod expressions.math_fmod expressions.math_remainder expressions.math_parts_of_floats "
        "expressions.math_ldexp expressions.math_norms expressions.math_distances expressions.permutations_of_counts"
    ),
    "complex numbers": (
        "complexes.complex_arithmetic complexes.complex_division_by_zero complexes.complex_power "
        "complexes.complex_attributes complexes.complex_equality complexes.complex_order "
        "complexes.complex_of_parts complexes.complex_in_a_loop complexes.complex_or_real "
        "complexes.complex_functions complexes.complex_beside_tensors complexes.complex_items "
        "complexes.complex_to_float complexes.complex_isinstance"
    ),
    "NumPy functions": "sequences.numpy_scalars sequences.converted_numpy_scalars sequences.WithNumpy arrays.softmax",
    "`torch.tensor([xs, ys])` of lists of any length": "specials.tensor_of_lists_in_a_display",
    "lists as indices of tensors": (
        "specials.lists_as_indices specials.assigned_by_lists specials.lists_of_lists_as_indices "
        "specials.list_as_a_mask specials.lists_that_are_no_indices specials.lists_taken_for_tuples "
        "specials.too_long_for_a_tuple"
    ),
    "`Tensor.tolist()`": "known_lengths.tensors_to_lists",
    "`[*xs, y]`, `torch.split(x, sizes)`, `torch.where(c)`": (
        "sequences.stars sequences.split_by_list sequences.pieces sequences.places"
    ),
    "`x.unsqueeze_()`, `squeeze_`, `t_`, `transpose_`, `swapaxes_`, `swapdims_`": (
        "reshaping.of_names reshaping.of_what_has_no_name reshaping.on_paths_and_in_loops reshaping.of_views "
        "reshaping.of_several_names reshaping.of_what_closures_and_loops_hold reshaping.methods_of_such_names"
    ),
    "`torch.Tensor(2, 3)`, `torch.LongTensor([1, 2])`, `t.new(2, 3)`, `t.type()`": (
        "constructors.of_sizes constructors.of_items constructors.of_a_tensor constructors.types "
        "constructors.of_ranges constructors.of_what_is_no_sequence "
        "constructors.unknown_type"
    ),
    "`torch.autograd.Variable(t)`": "constructors.variables constructors.variable_of_a_number",
    "`memory_format=` of `clone` and `contiguous`": "constructors.copies_in_a_format",
    "properties of tensors (`is_xla`, `is_signed()`), `slice(a, b)` of run-time numbers": (
        "specials.asked_of_tensors strings.tensors_as_indices_of_python specials.strides_of_what_indices_pick"
    ),
    "in-place activations (`nn.ReLU6(inplace=True)`), windows, `bincount`, `fill_diagonal_`": (
        "sequences.diagonals libraries.InPlace libraries.windows libraries.bincounts libraries.rows_of_matrices "
        "libraries.softmax_of_empty_rows"
    ),
    "conversions of values that hold no number, attributes that builtins lack": (
        "specials.attributes_that_builtins_have_not specials.bytes_that_choose "
        "specials.tensors_of_optional_numbers specials.tensors_of_anything specials.tensor_of_a_text "
        "specials.tensor_of_numbers_and_texts specials.int_of_a_list specials.length_of_anything "
        "specials.largest_of_nothing specials.filled_with_anything specials.masked_with_anything "
        "specials.chosen_from_anything"
    ),
    "subscripts, `del` and calls of values that have none": (
        "specials.item_of_what_has_none specials.place_in_what_has_none specials.assigned_to_what_takes_none "
        "specials.deleted_from_what_takes_none specials.called_what_is_no_function "
        "specials.text_as_the_index_of_a_pair"
    ),
    "`ModuleList`, `ModuleDict`, `ParameterList`, `ParameterDict`, lists and dicts of modules": (
        "modules.ModuleDicts modules.Parameters modules.Lists modules.KeepsANamedTuple modules.WalksLayersBesideLists "
        "modules.WalksPairsBesideLayers"
    ),
    "containers of modules with `__getitem__`, `__iter__`, `__len__` or `__contains__` of their own": (
        "specials.OwnContainers specials.MissingModules"
    ),
    "`parameters()`, `named_parameters()`, `buffers()`, `children()`, `modules()` and the like": "known_lengths.Tied",
    "`m.to(device)`, `m.cpu()`, `m.float()` and the like, `self.m = self.m.to(device)`": "modules.MovedToWhereItIs",
    "modules with a `__call__` of their own, `super().__call__`": "modules.Twice modules.OnlyCalled",
    "modules made in compiled code": "modules.MakesModules modules.MakesASequence",
    "modules of your own made in compiled code that wrap functions, modules, numbers": "modules.MakesWrappers",
    "forward hooks and pre-hooks of submodules": "modules.Hooked modules.Normed modules.HooksWithKeywords",
    "`torch.distributions`: `Categorical`, `Normal`, `Bernoulli`": (
        "libraries.categorical libraries.normal libraries.bernoulli libraries.categorical_of_a_vector "
        "libraries.Prior"
    ),
    "`torch.utils._pytree`": "libraries.trees",
    "`type(t)` and `isinstance(t, nn.Parameter)` of parameters that modules hold": "modules.AsksForClasses",
    "`torch.nn.attention.sdpa_kernel` with `SDPBackend.MATH` among the backends": "managers.backends_of_attention",
    "`struct.pack`, `struct.unpack` of known numbers": "libraries.numbers_as_bytes",
    "`torch._assert_async`": "libraries.asserted_of_tensors",
    "`torch.range`": "libraries.ranges_with_their_ends",
    "`torch.hash_tensor`": "libraries.hashes libraries.hashes_along",
    "`PackedSequence` through `nn.LSTM`, `nn.GRU`, `nn.RNN`": "",  # tests/test_recurrent.py
    "`torch.jit`: `annotate`, `unused`, `ignore`, `export`, `is_scripting`, `isinstance`, `Final`": (
        "modules.Child modules.calls_scripted modules.HoldsGraphs"
    ),
    "`torch.fx.symbolic_trace(m)`, `torch.export.export(...).module()`": "",  # tests/test_exported.py
    "`torch.vmap`, `torch.func.vmap` of elementwise functions": "",  # tests/test_vmap.py
    "`torch.nn.attention.flex_attention`, `create_block_mask`": "",  # tests/test_flexible_attention.py
    "`torch.compile(f)` in compiled code": "",  # tests/test_flexible_attention.py
    "functions given to `torch.compiler.disable`": "",  # tests/test_exported.py
    "`torch.autograd.grad`, `Tensor.backward`, `torch.autograd.backward`, `.grad` of weights": "",  # test_training_steps.py
    "`torch.autograd.Function`: `apply`, with a context or `setup_context`": (
        "custom_functions.Leaky custom_functions.function_with_a_context_of_its_own "
        "custom_functions.function_that_writes_what_it_is_given custom_functions.function_that_raises"
    ),
    "`torch.jit.fork`, `torch.jit.wait`": (
        "specials.Affine specials.forked_in_a_loop specials.lists_from_futures specials.raised_when_forked "
        "specials.mixed_from_futures"
    ),
}

REFUSED: dict[str, str] = {
    "`async`, `await`": "awaits",
    "generators as results, and a compiled function that yields": "Generates",
    "`except*`, exceptions with a `__str__` of their own": "",
    "recursion that neither ends at compile time nor passes values of the same kinds": "",
    "`class` inside a function": "class_inside",
    "context managers as decorators of nested functions": "decorated_inside",
    "`import` of a module that is not imported yet": "imports_what_is_not_imported",
    "assignment to a global, or to a variable of a function outside the compiled code": "global_assigned",
    "assignment to attributes of classes and Python modules": "",
    "assignment to weights of `nn.LSTM`, and to attributes of torch's other modules with a `__setattr__`": "",
    "functions, modules or objects of the caller in lists that grow in a loop of unknown length": (
        "functions_in_a_list_that_grows"
    ),
    "tuples of items of different kinds whose length changes in a loop of unknown length": "tuple_of_kinds_that_grows",
    "`bytearray` and `array.array` as arguments, subclasses of `collections.deque`": "",
    "a `collections.deque` from outside with several kinds of items, or in a class, closure or tuple": (
        "KeepsADequeOfKinds KeepsADequeInItsClass"
    ),
    "`is` between strings made at run time": "identity_of_strings",
    "`.T` of tensors that are not matrices": "transposed_whole",
    "`unsqueeze_`, `squeeze_`, `transpose_`, `t_`, `swapaxes_` of arguments, or on another path; `as_strided_`": (
        "reshaped_on_a_path"
    ),
    "`str.format` and `%` with a template made at run time; fields such as `{0.x}`": "",
    "more than eight kinds of values in one variable": "",
}

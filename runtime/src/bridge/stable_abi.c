/* stable_abi.c - finds the offsets at which stable_abi.h reads, and implements the fallbacks by the stable ABI. */
#include "stable_abi.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

python_record python;

/* ---- the tests ----
 *
 * Each test compares fields with the results of public functions, on objects whose size is as expected, so that no test
 * reads outside an object. A test that fails or raises leaves its part of the record empty. */

static const char objects_source[] =
    "import collections\n"
    "ordered_dict = collections.OrderedDict\n"
    "def function(a=1, *, b=2): pass\n"
    "def plain(): pass\n"
    "cell = (lambda content: lambda: content)(object()).__closure__[0]\n"
    "class Base: pass\n"
    "class Derived(Base): pass\n"
    "class Text(str): pass\n"
    "text = Text('ab')\n"
    "numbers = {0, 1, 2, 3}\n";

static PyObject *made_objects(void)
{
    PyObject *names = Py_BuildValue("{s:s}", "__name__", "scriptc.runtime._bridge"), *done = NULL;
    PyObject *code = names ? Py_CompileString(objects_source, "stable_abi.c", Py_file_input) : NULL;
    if (code)
        done = PyEval_EvalCode(code, names, names);
    if (!done)
        Py_CLEAR(names);
    Py_XDECREF(code);
    Py_XDECREF(done);
    return names;
}

/* Return the size of the objects of a type, or 0 if unknown. */
static size_t size_of(PyTypeObject *type)
{
    PyObject *size = PyObject_GetAttrString((PyObject *)type, "__basicsize__");
    size_t n = size ? PyLong_AsSize_t(size) : 0;
    Py_XDECREF(size);
    if (!PyErr_Occurred())
        return n;
    PyErr_Clear();
    return 0;
}

static PyObject *pointer_at(PyObject *o, size_t at) { return *(PyObject *const *)((const char *)o + at); }

/* Return the offset of the only pointer to `wanted` in an object of `size` bytes, or 0 if there is none or several. */
static size_t offset_of(PyObject *o, size_t size, PyObject *wanted)
{
    size_t found = 0;
    for (size_t at = sizeof(PyObject); wanted && at + sizeof wanted <= size; at += sizeof wanted)
        if (pointer_at(o, at) == wanted) {
            if (found)
                return 0;
            found = at;
        }
    return found;
}

static bool finds_floats(void)
{
    PyObject *o = PyFloat_FromDouble(-1.0 / 3);
    bool found = o && size_of(&PyFloat_Type) == sizeof(float_fields) && ((float_fields *)o)->value == PyFloat_AsDouble(o);
    Py_XDECREF(o);
    return found;
}

static void find_sequences(PyObject *a, PyObject *b)
{
    PyObject *tuple = PyTuple_New(2), *list = PyList_New(0);
    size_t at = size_of(&PyTuple_Type);
    if (tuple && list && PyTuple_SetItem(tuple, 0, Py_NewRef(a)) == 0 && PyTuple_SetItem(tuple, 1, Py_NewRef(b)) == 0 &&
        PyList_Append(list, a) == 0 && PyList_Append(list, b) == 0 && PyList_Append(list, a) == 0) {
        if (at >= sizeof(PyVarObject) && Py_SIZE(tuple) == 2 && pointer_at(tuple, at) == a && pointer_at(tuple, at + sizeof a) == b)
            python.tuple_at = at;
        python.lists = size_of(&PyList_Type) == sizeof(list_fields) + sizeof(Py_ssize_t) && Py_SIZE(list) == 3 &&
                       ((list_fields *)list)->items[0] == a && ((list_fields *)list)->items[1] == b;
    }
    Py_XDECREF(tuple);
    Py_XDECREF(list);
}

static bool finds_cells(PyObject *cell)
{
    PyObject *content = PyObject_GetAttrString(cell, "cell_contents");
    bool found = content && size_of(Py_TYPE(cell)) == sizeof(cell_fields) && ((cell_fields *)cell)->content == content &&
                 PyObject_DelAttrString(cell, "cell_contents") == 0 && !((cell_fields *)cell)->content;
    Py_XDECREF(content);
    return found;
}

static const char *const function_fields[N_FUNCTION_FIELDS] = {
    [CODE] = "__code__", [DEFAULTS] = "__defaults__", [KEYWORD_DEFAULTS] = "__kwdefaults__"};

/* Find the fields of functions. `function` has positional and keyword defaults; `plain` has none. */
static void find_function_fields(PyObject *function, PyObject *plain)
{
    size_t size = size_of(Py_TYPE(function)), at[N_FUNCTION_FIELDS];
    bool found = size != 0;
    for (int i = 0; found && i < N_FUNCTION_FIELDS; i++) {
        PyObject *have = PyObject_GetAttrString(function, function_fields[i]);
        PyObject *other = PyObject_GetAttrString(plain, function_fields[i]);
        found = have && other && (at[i] = offset_of(function, size, have)) != 0 &&
                pointer_at(plain, at[i]) == (other == Py_None ? NULL : other);
        Py_XDECREF(have);
        Py_XDECREF(other);
    }
    if (found)
        memcpy(python.function_at, at, sizeof at);
}

/* Return whether sets have the fields of `set_fields`. `numbers` is the set {0, 1, 2, 3}, from which items are
 * removed. */
static bool finds_sets(PyObject *numbers)
{
    const set_fields *s = (const set_fields *)numbers;
    size_t size = size_of(&PySet_Type), small = 8 * sizeof(set_entry);
    if (size < sizeof *s + small || s->fill != 4 || s->used != 4 || s->mask != 7 || s->finger != 0 ||
        (uintptr_t)s->table < (uintptr_t)(s + 1) || (uintptr_t)s->table > (uintptr_t)numbers + size - small)
        return false;
    PyObject *one = PyLong_FromLong(1), *popped = NULL;
    bool found = one && PySet_Discard(numbers, one) == 1 && (popped = PySet_Pop(numbers)) && PyLong_AsLong(popped) == 0 &&
                 s->fill == 4 && s->used == 2 && s->finger == 1;
    for (int i = 0; found && i < 8; i++) /* a small int is in the slot of its value */
        found = i > 3   ? !s->table[i].key
                : i < 2 ? s->table[i].key && s->table[i].hash == -1
                        : s->table[i].hash == i && PyLong_AsLong(s->table[i].key) == i;
    Py_XDECREF(one);
    Py_XDECREF(popped);
    return found;
}

/* Return the number of bytes before the characters of a str of two characters, or 0 if unknown. */
static size_t string_head(PyObject *o, size_t width)
{
    PyObject *size = PyObject_CallMethod(o, "__sizeof__", NULL);
    size_t n = size ? PyLong_AsSize_t(size) : 0;
    Py_XDECREF(size);
    return n >= 3 * width + sizeof(string_fields) ? n - 3 * width : 0;
}

static uint32_t state_of(PyObject *o) { return ((string_fields *)o)->state; }

/* Find the fields of strings. `text` is "ab" as an object of a subclass, which keeps its characters elsewhere. */
static void find_strings(PyObject *text)
{
    enum { ASCII, LATIN, WIDE, WIDEST, N };
    static const char *const utf8[N] = {"ab", "a\xc3\xa9", "a\xe2\x82\xac", "a\xf0\x9f\x98\x80"};
    static const uint32_t last[N] = {'b', 0xe9, 0x20ac, 0x1f600};
    static const size_t width[N] = {1, 1, 2, 4};
    PyObject *o[N] = {0};
    size_t head[N];
    bool found = true;
    for (int i = 0; found && i < N; i++)
        found = (o[i] = PyUnicode_FromString(utf8[i])) && (head[i] = string_head(o[i], width[i])) &&
                ((string_fields *)o[i])->length == 2;
    found = found && head[LATIN] == head[WIDE] && head[LATIN] == head[WIDEST];
    for (int i = 0; found && i < N; i++) {
        const char *data = (const char *)o[i] + head[i];
        found = (i < WIDE     ? *(const uint8_t *)(data + 1)
                 : i == WIDE  ? *(const uint16_t *)(data + 2)
                              : *(const uint32_t *)(data + 4)) == last[i];
    }
    /* the width, then two bits: characters in place, and ASCII; the bits after these may have any value */
    for (unsigned shift = 0; found && !python.strings && shift + 5 <= 32; shift++) {
        uint32_t in_place = UINT32_C(1) << (shift + 3), ascii = UINT32_C(1) << (shift + 4);
        bool fits = !(state_of(text) & in_place) && (state_of(text) & ascii);
        for (int i = 0; i < N; i++) {
            uint32_t state = state_of(o[i]);
            fits = fits && (state >> shift & 7) == width[i] && (state & in_place) && !(state & ascii) == (i != ASCII);
        }
        if (fits) {
            python.kind_shift = shift, python.ascii = ascii, python.compact = in_place;
            python.ascii_at = head[ASCII], python.wide_at = head[LATIN];
            python.strings = true;
        }
    }
    for (int i = 0; i < N; i++)
        Py_XDECREF(o[i]);
}

static uint32_t version_field(PyObject *type, size_t at) { return *(const uint32_t *)((const char *)type + at); }
static unsigned long flags_of(PyObject *type) { return PyType_GetFlags((PyTypeObject *)type); }

/* Return the offset of the flags within the first `size` bytes of a type, or 0 if not found. */
static size_t flags_offset(PyObject *type, size_t size)
{
    PyObject *types[] = {type, (PyObject *)&PyLong_Type, (PyObject *)&PyTuple_Type, (PyObject *)&PyType_Type};
    for (size_t at = sizeof(PyVarObject); at + sizeof(unsigned long) <= size; at += sizeof(unsigned long)) {
        int same = 0;
        while (same < 4 && *(const unsigned long *)((const char *)types[same] + at) == flags_of(types[same]))
            same++;
        if (same == 4)
            return at;
    }
    return 0;
}

/* Find the version of types. `derived` is a class whose only direct base is `base`. */
static void find_type_versions(PyObject *base, PyObject *derived)
{
    enum { BEHIND_MRO = 5 }; /* tp_mro, tp_cache, tp_subclasses, tp_weaklist, tp_del, tp_version_tag */
    static const unsigned long flag = 1UL << 19;
    size_t size = size_of(&PyType_Type);
    PyObject *mro = type_mro(derived);
    size_t mro_at = offset_of(derived, size, mro), at = mro_at + BEHIND_MRO * sizeof(void *);
    Py_XDECREF(mro);
    if (!mro_at || at + sizeof(uint32_t) > size || !(python.type_flags_at = flags_offset(derived, mro_at)))
        return;
    PyObject *changed[] = {derived, base, base};
    uint32_t numbered[4];
    bool by_flag = false, by_zero = true;
    for (int i = 0; i < 3; i++) {
        type_version_renew(derived);
        numbered[i] = version_field(derived, at);
        if (!numbered[i] || (i && numbered[i] == numbered[i - 1]))
            return;
        bool valid = flags_of(derived) & flag;
        type_version_renew(derived);
        if (version_field(derived, at) != numbered[i] || PyObject_SetAttrString(changed[i], "attribute", i ? Py_None : base) < 0)
            return;
        by_flag = (i == 0 || by_flag) && valid && !(flags_of(derived) & flag);
        by_zero = by_zero && version_field(derived, at) == 0;
    }
    if (!by_flag && !by_zero)
        return;
    python.valid_version = by_flag ? flag : 0;
    python.type_version_at = at;
}

static bool finds_dict_versions(void)
{
    enum { CHANGES = 4 };
    PyObject *dict = PyDict_New();
    const dict_fields *fields = (const dict_fields *)dict;
    bool found = dict && python.version < 0x030C0000 && size_of(&PyDict_Type) >= sizeof *fields && fields->used == 0;
    for (int i = 0; found && i < CHANGES; i++) { /* an item is added, replaced and removed, then another is added */
        uint64_t before = fields->version;
        found = (i == 2 ? PyDict_DelItemString(dict, "key") : PyDict_SetItemString(dict, "key", i == 1 ? Py_None : dict)) == 0 &&
                fields->used == (i != 2) && fields->version != before && fields->version &&
                PyDict_Size(dict) == fields->used;
        before = fields->version;
        found = found && (PyDict_GetItemString(dict, "key") != NULL) == (i != 2) && fields->version == before;
    }
    if (dict)
        PyDict_Clear(dict);
    Py_XDECREF(dict);
    return found;
}

static int note_change(int event, PyObject *dict, PyObject *key, PyObject *value)
{
    (void)event, (void)dict, (void)key, (void)value;
    python.changes++;
    return 0;
}

static void *function_named(const char *name) { return dlsym(RTLD_DEFAULT, name); }

static bool starts_watching(void)
{
    int (*add)(int (*)(int, PyObject *, PyObject *, PyObject *));
    *(void **)&add = function_named("PyDict_AddWatcher");
    *(void **)&python.watch = function_named("PyDict_Watch");
    if (!add || !python.watch || (python.watcher = add(note_change)) < 0)
        return false;
    PyObject *dict = PyDict_New();
    uint64_t before = python.changes;
    bool told = dict && python.watch(python.watcher, dict) == 0 && PyDict_SetItemString(dict, "key", Py_None) == 0 &&
                python.changes != before;
    Py_XDECREF(dict);
    return told;
}

static bool finds_buffers(void)
{
    enum { FORMAT_AND_CONTIGUOUS = 0x3c };
    PyObject *bytes = PyBytes_FromString("buffer");
    buffer_fields b = {0};
    bool found = false;
    *(void **)&python.get_buffer = function_named("PyObject_GetBuffer");
    *(void **)&python.release_buffer = function_named("PyBuffer_Release");
    if (bytes && python.get_buffer && python.release_buffer && python.get_buffer(bytes, &b, FORMAT_AND_CONTIGUOUS) == 0) {
        found = b.data == PyBytes_AsString(bytes) && b.owner == bytes && b.nbytes == 6 && b.item == 1 && b.readonly == 1 &&
                b.rank == 1 && b.format && !strcmp(b.format, "B") && b.shape && b.shape[0] == 6;
        python.release_buffer(&b);
    }
    Py_XDECREF(bytes);
    return found;
}

/* Return the descriptor that `type` has for an attribute, which no metaclass can override. */
static PyObject *type_descriptor(const char *name)
{
    PyObject *dict = PyObject_GetAttrString((PyObject *)&PyType_Type, "__dict__");
    PyObject *key = PyUnicode_FromString(name), *found = dict && key ? PyObject_GetItem(dict, key) : NULL;
    Py_XDECREF(dict);
    Py_XDECREF(key);
    return found;
}

static void find_all(PyObject *objects)
{
    PyObject *text = PyDict_GetItemString(objects, "text"), *cell = PyDict_GetItemString(objects, "cell");
    PyObject *derived = PyDict_GetItemString(objects, "Derived");
    python.floats = finds_floats();
    find_sequences(text, cell);
    python.cells = finds_cells(cell);
    python.sets = finds_sets(PyDict_GetItemString(objects, "numbers"));
    python.dict_versions = finds_dict_versions();
    find_function_fields(PyDict_GetItemString(objects, "function"), PyDict_GetItemString(objects, "plain"));
    find_strings(text);
    find_type_versions(PyDict_GetItemString(objects, "Base"), derived);
    *(void **)&python.vectorcall = function_named("PyObject_Vectorcall");
    *(void **)&python.string_of = function_named("PyUnicode_FromKindAndData");
    if (!finds_buffers())
        python.get_buffer = NULL;
    python.watching = !python.dict_versions && starts_watching();
    PyErr_Clear();
}

int python_inspect(void)
{
    PyObject *version = PySys_GetObject("hexversion"), *objects = NULL; /* borrowed */
    if (python.ordered_dict)
        return 0;
    python.version = version ? PyLong_AsLong(version) : 0;
    python.changes = 1;
    python.get_mro = type_descriptor("__mro__");
    python.get_dict = type_descriptor("__dict__");
    if (!python.get_mro || !python.get_dict || PyErr_Occurred() || !(objects = made_objects()))
        return -1;
    python.ordered_dict = Py_XNewRef(PyDict_GetItemString(objects, "ordered_dict"));
    find_all(objects);
    Py_DECREF(objects);
    return 0;
}

/* Return the names of the fields and functions that were found. For tests. */
const char *sc_bridge_shortcuts(void)
{
    static char names[256];
    const struct { const char *name; bool found; } all[] = {
        {"floats", python.floats}, {"tuples", python.tuple_at}, {"lists", python.lists}, {"cells", python.cells},
        {"functions", python.function_at[CODE]}, {"sets", python.sets}, {"strings", python.strings},
        {"types", python.type_version_at}, {"dicts", python.dict_versions || python.watching},
        {"calls", python.vectorcall}, {"new strings", python.string_of}, {"buffers", python.get_buffer}};
    names[0] = 0;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i].found)
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", names[0] ? ", " : "", all[i].name);
    return names;
}

/* Use the stable ABI alone from now on, except for the order of sets, which it cannot give. For tests. */
void sc_bridge_stable_abi_only(void)
{
    python_record all = python;
    python = (python_record){.version = all.version, .sets = all.sets, .changes = all.changes,
                             .ordered_dict = all.ordered_dict, .get_mro = all.get_mro, .get_dict = all.get_dict};
}

/* ---- cells, functions, dicts, types ---- */

PyObject *cell_content_by_name(PyObject *cell)
{
    PyObject *content = PyObject_GetAttrString(cell, "cell_contents");
    if (!content)
        PyErr_Clear();
    Py_XDECREF(content); /* the cell keeps its content alive */
    return content;
}

PyObject *function_field_by_name(PyObject *function, int field)
{
    PyObject *have = PyObject_GetAttrString(function, function_fields[field]);
    if (!have)
        PyErr_Clear();
    Py_XDECREF(have); /* the function keeps the object alive, and None is immortal */
    return have;
}

bool dict_watch(PyObject *dict, bool seldom)
{
    if (python.dict_versions)
        return true;
    if (!python.watching || !seldom) /* a dict that often changes would call back as often */
        return false;
    if (python.watch(python.watcher, dict) == 0)
        return true;
    PyErr_Clear();
    return false;
}

uint64_t type_version_renew(PyObject *type)
{
    /* looking an attribute up gives a class a version; the name exists nowhere, so no user code runs */
    getattrofunc look;
    *(void **)&look = PyType_GetSlot(&PyType_Type, Py_tp_getattro);
    PyObject *name = PyUnicode_InternFromString(" scriptc"), *never = name ? look(type, name) : NULL;
    Py_XDECREF(never);
    Py_XDECREF(name);
    PyErr_Clear();
    return type_version(type);
}

static PyObject *described(PyObject *descriptor, PyObject *type)
{
    descrgetfunc get;
    *(void **)&get = PyType_GetSlot(Py_TYPE(descriptor), Py_tp_descr_get);
    return get(descriptor, type, (PyObject *)Py_TYPE(type));
}

PyObject *type_mro(PyObject *type) { return described(python.get_mro, type); }

PyObject *type_lookup(PyObject *type, PyObject *name)
{
    PyObject *mro = type_mro(type), *found = NULL;
    for (Py_ssize_t i = 0; mro && !found && i < PyTuple_Size(mro); i++) {
        PyObject *dict = described(python.get_dict, PyTuple_GetItem(mro, i));
        if (dict && PySequence_Contains(dict, name) == 1)
            found = PyObject_GetItem(dict, name);
        Py_XDECREF(dict);
    }
    Py_XDECREF(mro);
    PyErr_Clear();
    return found;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* it stays in the stable ABI */
bool has_referent(PyObject *reference) { return PyWeakref_GetObject(reference) != Py_None; }
#pragma GCC diagnostic pop

/* ---- strings and buffers ---- */

PyObject *string_make(int width, const void *data, Py_ssize_t length)
{
    if (python.string_of)
        return python.string_of(width, data, length);
    if (width == 1)
        return PyUnicode_DecodeLatin1(data, length, NULL);
    int order = *(const char *)&(int){1} ? -1 : 1; /* byte order given, so that a first U+FEFF is a character */
    uint32_t *wide = width == 2 ? PyMem_Malloc(((size_t)length + 1) * sizeof *wide) : NULL;
    if (width == 2 && !wide)
        return PyErr_NoMemory();
    for (Py_ssize_t i = 0; wide && i < length; i++)
        wide[i] = ((const uint16_t *)data)[i];
    PyObject *made = PyUnicode_DecodeUTF32(wide ? (const char *)wide : data, 4 * length, "surrogatepass", &order);
    PyMem_Free(wide);
    return made;
}

static bool equals(PyObject *a, PyObject *b)
{
    bool same = a && b && PyObject_RichCompareBool(a, b, Py_EQ) == 1;
    Py_XDECREF(a);
    return same;
}

bool buffer_is(PyObject *o, PyObject *format, PyObject *shape, PyObject *bytes)
{
    enum { FORMAT_AND_CONTIGUOUS = 0x3c };
    buffer_fields b;
    bool same;
    if (python.get_buffer && python.get_buffer(o, &b, FORMAT_AND_CONTIGUOUS) == 0) {
        same = b.rank == PyTuple_Size(shape) && b.nbytes == PyBytes_Size(bytes) &&
               PyUnicode_CompareWithASCIIString(format, b.format ? b.format : "B") == 0;
        for (int i = 0; same && i < b.rank; i++)
            same = b.shape[i] == PyLong_AsSsize_t(PyTuple_GetItem(shape, i));
        same = same && memcmp(b.data, PyBytes_AsString(bytes), (size_t)b.nbytes) == 0;
        python.release_buffer(&b);
    } else { /* not contiguous, or a Python without these functions */
        PyErr_Clear();
        PyObject *view = PyMemoryView_FromObject(o);
        same = view && equals(PyObject_GetAttrString(view, "format"), format) &&
               equals(PyObject_GetAttrString(view, "shape"), shape) &&
               equals(PyObject_CallMethod(view, "tobytes", NULL), bytes);
        Py_XDECREF(view);
    }
    PyErr_Clear();
    return same;
}

/* ---- calls ---- */

int call_objects(PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, PyObject **tuple, PyObject **dict)
{
    *tuple = PyTuple_New(nargs);
    *dict = PyDict_New();
    for (Py_ssize_t i = 0; *tuple && i < nargs; i++)
        tuple_fill(*tuple, i, Py_NewRef(args[i]));
    bool ok = *tuple && *dict;
    for (Py_ssize_t i = 0; ok && kwnames && i < tuple_length(kwnames); i++)
        ok = PyDict_SetItem(*dict, tuple_item(kwnames, i), args[nargs + i]) == 0;
    return ok ? 0 : -1;
}

PyObject *call_vector(PyObject *callable, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    if (python.vectorcall)
        return python.vectorcall(callable, args, (size_t)nargs, kwnames);
    PyObject *tuple, *dict, *done = NULL;
    if (call_objects(args, nargs, kwnames, &tuple, &dict) == 0)
        done = PyObject_Call(callable, tuple, dict);
    Py_XDECREF(tuple);
    Py_XDECREF(dict);
    return done;
}

"""Read damaged ONNX files: `python -m tests.onnx_mutations [--count 10000] [--record FILE]`.

Each file is read, or OnnxError says what is wrong. Another exception, a crash, a hang or an allocation of a size that the
file only declares is a finding. The same number always gives the same file. A process with a limit of memory reads the
files, one after the other.
"""

from __future__ import annotations

import argparse
import ast
import json
import queue
import random
import resource
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import onnx

ROOM = 1 << 30  # bytes that reading may take
INTS = (0, -1, 1, 2, 7, 255, 2**31 - 1, -(2**31), 2**31, 10**12, 2**62, 2**63 - 1, -(2**63))
FLOATS = (0.0, -1.0, float("inf"), float("nan"), 1e-30, 3e38)
TEXTS = ("", "x", "y", "/etc/passwd", "../../etc/passwd", "weights.bin", "a\0b", "é" * 40, '"""', "NOTSET", "x" * 3000, "axis")
MODELS = (
    """<ir_version: 8, opset_import: ["" : 17]>
    m (float[n, 4] x, int64 times) => (float[n, 4] y) <float[4] w = {1, 2, 3, 4}> {
      yes = Constant<value = bool {1}>()
      y = Loop(times, yes, x) <body = step (int64 i, bool going, float[n, 4] h) => (bool on, float[n, 4] g) {
        on = Identity(going)
        d = Mul(h, w)
        g = Add(d, x)
      }>
    }""",
    """<ir_version: 8, opset_import: ["" : 18]>
    m (float[n, 3, 8, 8] x, int64[2] shape) => (float[a, b] y) <float[2] b = {1, 2}> {
      sizes = Constant<value_ints = [2, 3, 3, 3]>()
      w = ConstantOfShape<value = float[1] {0.5}>(sizes)
      c = Conv<pads = [1, 1, 1, 1], strides = [2, 2]>(x, w, b)
      p = MaxPool<kernel_shape = [2, 2]>(c)
      m = ReduceMean<keepdims = 0>(p)
      s = Shape(x)
      first = Constant<value_int = 0>()
      rows = Gather(s, first)
      f = Flatten(p)
      z = Resize<mode = "linear">(p, , , s)
      t = Transpose<perm = [1, 0]>(f)
      y = Reshape(t, shape)
    }""",
    """<ir_version: 10, opset_import: ["" : 21, "own" : 1]>
    m (float[2, n] x, bool c) => (float[2, n] y, int64[k] at) {
      a = own.Twice<by = 3.0>(x)
      u = If (c) <
        then_branch = yes () => (float[2, n] t) { t = Relu(a) }, else_branch = no () => (float[2, n] e) { e = Neg(x) }
      >
      k = Constant<value_ints = [1]>()
      v, i = TopK<axis = 1>(u, k)
      parts = SplitToSequence<axis = 0>(u)
      one = Constant<value_int = 1>()
      p = SequenceAt(parts, one)
      zero = Constant<value_ints = [0]>()
      q = Squeeze(p, zero)
      y = Add(u, q)
      at = NonZero(c)
    }
    <opset_import: ["" : 21], domain: "own">
    Twice <by: float = 2.0> (x) => (y) {
      factor = Constant<value_float: float = @by>()
      y = Mul(x, factor)
    }""",
)


def seeds(every: bool) -> list[bytes]:
    """Return the models that are damaged: some of this file, and those of ONNX's backend tests if `every` is set."""
    found = []
    for text in MODELS:
        found.append(onnx.parser.parse_model(text).SerializeToString())
    if every:
        from tests.onnx_backend.cases import all_cases

        for case in all_cases().values():
            if case.model is not None:
                found.append(case.model.SerializeToString())
            elif case.model_dir is not None:
                found.append((Path(case.model_dir) / "model.onnx").read_bytes())
    return found


def messages(proto: Any) -> Iterator[Any]:
    """Yield a message and all messages in it."""
    yield proto
    for field, value in proto.ListFields():
        if field.message_type is not None:
            for item in value if field.is_repeated else [value]:
                yield from messages(item)


def edit_field(model: Any, rng: random.Random) -> None:
    """Change one field of one message."""
    message = rng.choice(list(messages(model)))
    field = rng.choice(message.DESCRIPTOR.fields)
    name = field.name
    if field.is_repeated:
        items = getattr(message, name)
        if len(items) and rng.random() < 0.5:
            index = rng.randrange(len(items))
            if field.message_type is not None and rng.random() < 0.5:
                items.add().CopyFrom(items[index])
            else:
                del items[index]
        elif field.message_type is not None:
            items.add()
        else:
            items.append(value_of(field, rng))
    elif message.HasField(name) and rng.random() < 0.3:
        message.ClearField(name)
    elif field.message_type is not None:
        getattr(message, name).SetInParent()
    else:
        setattr(message, name, value_of(field, rng))


def value_of(field: Any, rng: random.Random) -> Any:
    kind = field.cpp_type
    if kind in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
        return rng.choice(FLOATS)
    if kind == field.CPPTYPE_STRING:
        text = rng.choice(TEXTS)
        return text.encode() if field.type == field.TYPE_BYTES else text
    if kind == field.CPPTYPE_ENUM:
        return rng.choice([value.number for value in field.enum_type.values])
    if kind in (field.CPPTYPE_UINT64, field.CPPTYPE_UINT32):
        return rng.choice((0, 1, 2**32 - 1))
    small = kind == field.CPPTYPE_INT32
    return rng.choice([i for i in INTS if not small or -(2**31) <= i < 2**31])


def names_of(graph: Any) -> list[str]:
    return [*(v.name for v in graph.input), *(t.name for t in graph.initializer), *(o for n in graph.node for o in n.output)]


def any_node(model: Any, rng: random.Random) -> Any:
    nodes = [message for message in messages(model) if isinstance(message, onnx.NodeProto)]
    return rng.choice(nodes) if nodes else model.graph.node.add()


def rename_input(model: Any, rng: random.Random) -> None:
    node = any_node(model, rng)
    names = names_of(model.graph) or ["x"]
    if node.input:
        node.input[rng.randrange(len(node.input))] = rng.choice([*names, "nothing", ""])
    else:
        node.input.append(rng.choice(names))


def make_cycle(model: Any, rng: random.Random) -> None:
    nodes = model.graph.node
    if nodes and nodes[0].input and nodes[-1].output:
        nodes[0].input[0] = rng.choice(list(nodes[-1].output))


def change_type(model: Any, rng: random.Random) -> None:
    values = [*model.graph.input, *model.graph.output, *model.graph.value_info]
    if values:
        kind = rng.choice(values).type
        kind.tensor_type.elem_type = rng.randrange(-1, 30)
        if rng.random() < 0.2:
            kind.optional_type.elem_type.sequence_type.elem_type.tensor_type.elem_type = 1


def change_dims(model: Any, rng: random.Random) -> None:
    kinds = onnx.TensorProto, onnx.TensorShapeProto, onnx.SparseTensorProto
    tensors = [message for message in messages(model) if isinstance(message, kinds)]
    if not tensors:
        return
    chosen = rng.choice(tensors)
    size = rng.choice([*INTS, 3, 5, 10**6])
    if isinstance(chosen, onnx.TensorShapeProto):
        dims = list(chosen.dim) or [chosen.dim.add()]
        rng.choice(dims).dim_value = size
    elif chosen.dims and rng.random() < 0.7:
        chosen.dims[rng.randrange(len(chosen.dims))] = size
    else:
        chosen.dims.extend([size] * rng.choice((1, 40)))


def external_data(model: Any, rng: random.Random) -> None:
    tensors = [m for m in messages(model) if isinstance(m, onnx.TensorProto)]
    tensor = rng.choice(tensors) if tensors else model.graph.initializer.add(name="w", data_type=1, dims=[4])
    tensor.data_location = onnx.TensorProto.EXTERNAL
    keys = {"location": [*TEXTS, ".", "link"], "offset": ["0", "-1", "9" * 30, "x"], "length": ["16", "-4", "x"]}
    for key, values in keys.items():
        if rng.random() < 0.8:
            entry = tensor.external_data.add()
            entry.key, entry.value = key, rng.choice(values)


def swap_operator(model: Any, rng: random.Random) -> None:
    schemas = sorted({(s.domain, s.name) for s in onnx.defs.get_all_schemas()})
    node = any_node(model, rng)
    node.domain, node.op_type = rng.choice(schemas)


def change_attribute(model: Any, rng: random.Random) -> None:
    node = any_node(model, rng)
    is_there = bool(node.attribute) and rng.random() < 0.7
    attribute = rng.choice(node.attribute) if is_there else node.attribute.add(name=rng.choice(TEXTS))
    if rng.random() < 0.5:
        attribute.type = rng.choice([value.number for value in onnx.AttributeProto.DESCRIPTOR.enum_types[0].values])
    else:
        values = rng.choice(INTS), rng.choice(FLOATS), rng.choice(TEXTS), [rng.choice(INTS)] * 3, [1.5], ["NOTSET"]
        made = rng.choice(values)
        attribute.CopyFrom(onnx.helper.make_attribute(attribute.name or "axis", made))


def nested(depth: int) -> bytes:
    """Return the bytes that add an If to the graph of a model, with graphs in graphs."""

    def part(number: int, content: bytes) -> bytes:
        size, length = b"", len(content)
        while length > 127:
            size, length = size + bytes([length & 127 | 128]), length >> 7
        return bytes([number << 3 | 2]) + size + bytes([length]) + content

    graph = part(2, b"g")
    for _ in range(depth):
        branch = part(1, b"then_branch") + part(6, graph) + bytes([20 << 3 & 127 | 128, 1, onnx.AttributeProto.GRAPH])
        graph = part(1, part(1, b"b") + part(2, b"r") + part(4, b"If") + part(5, branch)) + part(2, b"g")
    return part(7, graph)


def change_opset(model: Any, rng: random.Random) -> None:
    if model.opset_import:
        entry = rng.choice(model.opset_import)
        entry.version = rng.choice((0, 1, 5, 6, 9, 10, 12, 15, 19, 22, 25, 99, -3))
        if rng.random() < 0.2:
            entry.domain = rng.choice(("", "ai.onnx", "ai.onnx.ml", "strange"))


def call_itself(model: Any, rng: random.Random) -> None:
    if not model.functions:
        model.functions.add(name="F", domain="own", input=["x"], output=["y"])
    function = model.functions[0]
    function.node.add(op_type=function.name, domain=function.domain, input=list(function.input), output=["z"])
    if not any(o.domain == "own" for o in model.opset_import):
        model.opset_import.add(domain="own", version=1)
    node = any_node(model, rng)
    node.op_type, node.domain = function.name, function.domain


EDITS = (
    edit_field, edit_field, edit_field, rename_input, make_cycle, change_type, change_dims, change_dims, external_data,
    swap_operator, change_attribute, change_attribute, change_opset, call_itself,
)  # fmt: skip


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Return the content of a file with damage."""
    if rng.random() < 0.3:
        data = bytearray(content)
        for _ in range(rng.choice((1, 2, 8))):
            at = rng.randrange(len(data))
            kind = rng.randrange(4)
            if kind == 0:
                data[at] ^= 1 << rng.randrange(8)
            elif kind == 1:
                data[at] = rng.choice((0, 0x7F, 0x80, 0xFF))
            elif kind == 2:
                del data[at : at + rng.choice((1, 4, 64))]
            else:
                data = data[: max(at, 1)]
            data = data or bytearray(b"\0")
        return bytes(data)
    model = onnx.ModelProto.FromString(content)
    for _ in range(rng.choice((1, 1, 2, 4))):
        rng.choice(EDITS)(model, rng)
    made = model.SerializeToString()
    return made + nested(rng.choice((2, 28, 60, 500))) if rng.random() < 0.05 else made


def read_one(number: int, contents: list[bytes], folder: Path) -> str:
    """Return how a file was read: "read", "OnnxError: ...", or what is wrong."""
    from scriptc.onnx.reading import read
    from scriptc.onnx.reading.errors import OnnxError

    rng = random.Random(number)
    content = damaged(rng.choice(contents), rng)
    try:
        if rng.random() < 0.5:
            path = folder / "model.onnx"
            path.write_bytes(content)
            made = read(path)
        else:
            made = read(content)
        ast.parse(made.source)
    except OnnxError as error:
        return f"OnnxError: {error}" if len(str(error)) > 10 else f"finding: OnnxError says only {error}"
    except BaseException as error:
        return f"finding: {type(error).__name__}: {error}"
    return "read"


def child(first: int, last: int, every: bool) -> None:
    """Read the files of some numbers, and print a line of JSON for each."""
    import scriptc.onnx.reading.operators  # noqa: F401  what is loaded before the limit takes no room

    contents = seeds(every)
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "weights.bin").write_bytes(bytes(64))
        (folder / "link").symlink_to("/etc/passwd")
        read_one(0, contents[:1], folder)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + ROOM
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        for number in range(first, last):
            print(json.dumps([number, read_one(number, contents, folder)]), flush=True)


def read_all(first: int, last: int, every: bool, timeout: float = 20.0) -> Iterator[tuple[int, str]]:
    """Yield the number of each file and how it was read; a process that hangs or crashes is replaced."""
    while first < last:
        command = [sys.executable, "-m", "tests.onnx_mutations", "--child", str(first), str(last), *["--every"][: int(every)]]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent.parent) as process:
            lines: queue.Queue[str] = queue.Queue()

            def pump(process: Any = process, lines: Any = lines) -> None:
                for line in process.stdout:
                    lines.put(line)
                lines.put("")

            threading.Thread(target=pump, daemon=True).start()
            wait = 120.0
            while first < last:
                try:
                    line = lines.get(timeout=wait)
                except queue.Empty:
                    line = "hang"
                if not line.startswith("["):
                    process.kill()
                    yield first, "finding: it hangs" if line else f"finding: the process ended with {process.wait()}"
                    first += 1
                    break
                number, said = json.loads(line)
                yield number, said
                first, wait = number + 1, timeout


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.onnx_mutations")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--every", action="store_true", help="damage the models of ONNX's backend tests, too")
    parser.add_argument("--record", type=Path, help="append a line of JSON for each file")
    parser.add_argument("--child", type=int, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(*options.child, options.every)
        return
    counts: Counter[str] = Counter()
    for number, said in read_all(options.first, options.first + options.count, options.every):
        counts[said.partition(":")[0]] += 1
        if said.startswith("finding"):
            print(f"{number}: {said[:400]}", flush=True)
        if options.record:
            with options.record.open("a", encoding="utf-8") as file:
                file.write(json.dumps([number, said[:400]]) + "\n")
    print(dict(counts))


if __name__ == "__main__":
    main()

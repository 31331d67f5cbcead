"""Programs that read what lives outside of them, and what changes there between their calls.

A program is a function, the objects that it reads (named for it, so that many stand in one file), a function that makes
the change in front of a call, and one that takes back what it changed of other modules. The function only reads, so that
Python and compiled code find the same.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from tests.fuzz.generator import Generator
from tests.fuzz.productions import Grammar, Templates

CHANGES = 3  # in a program, one in front of each call but the first


@dataclass(frozen=True)
class Subject:
    """An object outside. In all texts `@` stands for the name of the program: `@items` is a global of its own.

    reads: templates as in `grammar.py`, by kind. changes: statements that assign to globals named `@...`. restore: what
    takes back changes of things that others use as well.
    """

    text: str
    reads: Templates
    changes: list[str]
    restore: str = ""


CLASSES = """
class @Base:
    rate = 2
    def step(self, a):
        return a + self.rate
    @property
    def size(self):
        return self.rate * 3
    @staticmethod
    def flat(a):
        return a + 1
    @classmethod
    def kind(cls):
        return cls.rate
class @K(@Base):
    def __call__(self, a):
        return a * 2
    def __len__(self):
        return 4
    def __add__(self, a):
        return a + 10
class @K2(@Base):
    rate = 11
    def step(self, a):
        return a - 1
    def __call__(self, a):
        return a - 2
    def __len__(self):
        return 5
    def __add__(self, a):
        return a + 20
@k1 = @K()
@method = @k1.step
"""

NET = """
class @Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = 2
        self.weight = torch.nn.Parameter(torch.ones(1, dtype=torch.float64))
        self.register_buffer("seen", torch.zeros(1, dtype=torch.float64))
        self.act = torch.nn.ReLU()
        self.layers = torch.nn.ModuleList([torch.nn.ReLU(), torch.nn.Identity()])
        self.held = [torch.nn.Identity()]
        self.drop = torch.nn.Dropout(1.0)
        self.drop.eval()
    def forward(self, v):
        v = self.act(v * self.weight + self.seen) * self.scale
        for layer in self.layers:
            v = layer(v)
        return self.drop(self.held[0](v))
@net = @Net()
"""

CELL = """
def @make(c):
    def read(a):
        return a + c
    def write(v):
        nonlocal c
        c = v
    return read, write
@read, @write = @make(1)
"""

SUBJECTS: dict[str, Subject] = {
    "number": Subject(
        "@k = 3",
        {"int": ["int(@k)", "(@k is None) + 1"], "float": ["float(@k)"], "vector": ["($vector + @k)"], "bool": ["bool(@k)",
            "(@k == 3)"]},
        ["@k = 4", "@k = 2.5", "@k = True", "@k = -0.0", "@k = 0.0", "@k = 2**40", "@k = float('nan')", "@k = 3.0"],
    ),
    "text": Subject('@s = "ab"', {"text": ["@s", "(@s + $text)[:9]"], "int": ["len(@s)"], "bool": ["(@s == $text)"]},
                    ['@s = "é"', '@s = ""', '@s = "ab" * 3', '@s = "cd"']),
    "tuple": Subject("@t = (1, (2, 3))", {"int": ["@t[0]", "@t[1][0]", "len(@t[1])"], "ints": ["list(@t[1])"]},
                     ["@t = (1, (2, 4))", "@t = (5, (2,))", "@t = (True, (2, 3))", "@t = [1, [2, 3]]"]),
    "none": Subject("@o = None", {"int": ["(0 if @o is None else int(@o))"], "bool": ["(@o is None)", "bool(@o)"]},
                    ["@o = 5", "@o = 2.0", "@o = 0", "@o = None"]),
    "list": Subject(
        "@items = [1, 2, 3]",
        {"int": ["sum(@items)", "len(@items)", "@items[0]", "@items[$small]", "@items.count(2)"], "ints": ["list(@items)",
            "@items[1:]"],
         "bool": ["(2 in @items)", "bool(@items)"]},
        ["@items.append(4)", "@items[0] = 9", "del @items[0]", "@items = [7]", "@items.clear()", "@items[1] = 2.5",
         "@items.reverse()",
         "@items.insert(0, 5)", "@items += [8]", "@items[:] = [6, 6]"],
    ),
    "dict": Subject(
        '@d = {"a": 1, "b": 2}',
        {"int": ['@d["a"]', "len(@d)", "sum(@d.values())", '@d.get("z", 7)', "sum(v for _, v in @d.items())"],
         "texts": ["list(@d)"],
         "bool": ['("b" in @d)', '("z" in @d)']},
        ['@d["a"] = 9', '@d["z"] = 3', 'del @d["b"]', "@d = {'a': 5}", '@d["a"] = @d.pop("a")', "@d.clear()",
         '@d.update(b=6)', '@d["a"] = 1.5'],
    ),
    "set": Subject("@set = {1, 2}", {"int": ["len(@set)", "sum(@set)"], "bool": ["(2 in @set)", "($int in @set)"]},
                   ["@set.add(7)", "@set.discard(2)", "@set = {9}", "@set.clear()", "@set |= {3, 4}"]),
    "nested": Subject(
        '@deep = {"a": [1, {"b": (2, [3])}]}',
        {"int": ['@deep["a"][0]', '@deep["a"][1]["b"][0]', '@deep["a"][1]["b"][1][0]', 'len(@deep["a"])']},
        ['@deep["a"][0] = 8', '@deep["a"][1]["b"][1][0] = 9', '@deep["a"].append(1)', '@deep["a"][1]["b"] = (5, [6])',
         '@deep["a"] = [4, {"b": (1, [0])}]'],
    ),
    "array": Subject(
        "@array = numpy.array([1.0, 2.0])",
        {"float": ["float(@array[0])", "float(@array.sum())"], "int": ["len(@array)", "int(@array[0])", "@array.shape[0]"],
         "vector": ["($vector * float(@array[0]))"]},
        ["@array[0] = 50", "@array += 1", "@array = numpy.zeros(3)", "@array.fill(2)", "@array = numpy.array([3])"],
    ),
    "userdict": Subject('@ud = collections.UserDict(a=1)', {"int": ['@ud["a"]', "len(@ud)"]},
                        ['@ud["a"] = 5', '@ud["b"] = 2', "@ud = collections.UserDict(a=7)", '@ud.data["a"] = 6']),
    "chainmap": Subject('@base = {"a": 1}\n@cm = collections.ChainMap({}, @base)', {"int": ['@cm["a"]', "len(@cm)"]},
                        ['@base["a"] = 5', '@cm["a"] = 2', '@cm.maps[0]["a"] = 9', '@base["b"] = 3']),
    "view": Subject('@vd = {"a": 1}\n@keys, @values = @vd.keys(), @vd.values()', {"int": ["len(@keys)", "sum(@values)"],
        "bool": ['("b" in @keys)']},
                    ['@vd["b"] = 4', '@vd["a"] = 9', "@vd.clear()"]),
    "proxy": Subject('@pd = {"a": 1}\n@proxy = types.MappingProxyType(@pd)', {"int": ['@proxy["a"]', "len(@proxy)"]},
                     ['@pd["a"] = 3', '@pd["b"] = 3']),
    "deque": Subject("@q = collections.deque([1, 2])", {"int": ["@q[0]", "len(@q)", "sum(@q)"]},
                     ["@q.append(5)", "@q.rotate(1)", "@q[0] = 9", "@q = collections.deque([4])"]),
    "counter": Subject('@c = collections.Counter("aab")\n@dd = collections.defaultdict(int, a=2)',
                       {"int": ['@c["a"]', "sum(@c.values())", 'len(@dd)', '@dd.get("a", 0)']}, ['@c["a"] += 5',
                           '@c["z"] = 1', '@dd["b"] = 3']),
    "bytes": Subject("@bytes = bytearray(b'ab')\n@memory = memoryview(@bytes)", {"int": ["@bytes[0]", "len(@bytes)",
        "@memory[0]"]},
                     ["@bytes[0] = 9", "@bytes = bytearray(b'zzz')"]),
    "helper": Subject(
        "def @h(a, b=2, *, c=1):\n    return a * b + c\ndef @h2(a, b=5, *, c=4):\n    return a - b + c",
        {"int": ["@h($int)", "@h($int, 3)", "@h($int, c=2)"], "vector": ["@h($vector)"], "float": ["@h($float)"]},
        ["@h.__defaults__ = (7,)", '@h.__kwdefaults__ = {"c": 9}', "@h.__code__ = @h2.__code__", "@h = @h2",
         "@h = lambda a, b=1, *, c=0: a",
         "@h = functools.partial(@h2, b=3)", "@h.__defaults__ = (2.5,)", '@h.__kwdefaults__["c"] = 6'],
    ),
    "decorated": Subject(
        "def @plain(a):\n    return a + 1\n@functools.wraps(@plain)\ndef @wrapper(*args):\n    return @plain(*args) * 2",
        {"int": ["@wrapper($int)"], "vector": ["@wrapper($vector)"]},
        ["@plain.__code__ = (lambda a: a - 1).__code__", "@plain = lambda a: a + 5", "@wrapper.__wrapped__ = None",
         "@wrapper = @plain"],
    ),
    "cell": Subject(
        CELL,
        {"int": ["int(@read($int))"], "vector": ["@read($vector)"]},
        ["@write(5)", "@write(2.5)", "@read, @write = @make(8)", "@read.__closure__[0].cell_contents = 4", "@write(True)"],
    ),
    "object": Subject(
        CLASSES,
        {"int": ["@k1.step($int)", "@k1.rate", "@k1.size", "@k1.flat($int)", "@k1.kind()", "@K.rate", "@k1($int)",
                 "len(@k1)", "(@k1 + $int)",
                 "@method($int)", "getattr(@k1, 'extra', 7)", "@K.step(@k1, $int)"],
         "bool": ["isinstance(@k1, @K)", "isinstance(@k1, @Base)", "hasattr(@k1, 'extra')"], "vector": ["@k1.step($vector)",
             "@k1($vector)"]},
        ["@K.step = lambda self, a: a - 1", "@k1.step = lambda a: a * 3", "@Base.step = lambda self, a: a",
         "@Base.rate = 9", "@k1.rate = 4",
         "@K.rate = 5", "@k1.__class__ = @K2", "@Base.size = property(lambda self: 8)", "@K.__call__ = lambda self, a: a + 7",
         "@K.__len__ = lambda self: 9", "@K.__add__ = lambda self, a: a", "@k1 = @K2()", "@k1.extra = 3", "@K.extra = 2",
         "@K.__bases__ = (@K2,)",
         "@Base.step.__code__ = (lambda self, a: a * 5).__code__", "@Base.flat = staticmethod(lambda a: a - 6)",
         "@k1.__dict__['rate'] = 12",
         "@Base.kind = classmethod(lambda cls: 1)", "@method = @K2().step", "@K.size = 30", "vars(@k1).update(rate=6)"],
    ),
    "net": Subject(
        NET,
        {"vector": ["@net($vector).detach()", "@net.act($vector)"], "int": ["@net.scale", "len(@net.layers)",
            "int(@net.training)"],
         "float": ["@net.weight.sum().item()"]},
        ["@net.scale = 5", "@net.act = torch.nn.Identity()", "@net.layers.append(torch.nn.Threshold(1, 7))",
         "@net.weight.data.mul_(3)",
         "@net.weight = torch.nn.Parameter(torch.full((1,), 2.0, dtype=torch.float64))", "@net.forward = lambda v: v + 1",
         "@Net.forward = lambda self, v: v - 1",
         "@net.train()", "@net.act.register_forward_hook(lambda m, a, r: r + 1)", "@net.act.forward = lambda v: v * 4",
         "@net.seen.add_(2)",
         "@net.held[0] = torch.nn.ReLU()", "@net.layers[0] = torch.nn.Threshold(0, 3)", "del @net.layers[0]",
         "@net.seen = torch.ones(1, dtype=torch.float64)",
         "@net.act.__class__ = torch.nn.Identity", "@net.double()", "@net.drop.train()", "@net.drop.p = 0.0",
         "@net.weight.requires_grad_(False)",
         "@net._modules['act'] = torch.nn.Identity()", "@net.register_forward_pre_hook(lambda m, a: (a[0] + 2,))",
         "@net.load_state_dict({k: v + 1 for k, v in @net.state_dict().items()})"],
    ),
    "tensor": Subject(
        "@tensor = torch.ones(2, dtype=torch.float64)",
        {"vector": ["(@tensor + 0)", "($vector + @tensor.sum())"], "int": ["len(@tensor)", "@tensor.dim()"],
         "float": ["@tensor.sum().item()"]},
        ["@tensor[0] = 9", "@tensor = torch.zeros(3, dtype=torch.float64)", "@tensor.mul_(2)",
         "@tensor = torch.ones(2, 2, dtype=torch.float64)",
         "@tensor.resize_(4).fill_(1)", "@tensor = torch.ones(4, dtype=torch.float64)[::2]",
         "@tensor.data = torch.full((5,), 2.0, dtype=torch.float64)"],
    ),
    "dataclass": Subject(
        "@box = Box(3, torch.ones(1, dtype=torch.float64))\n@point = Point(2, torch.ones(2, dtype=torch.float64))",
        {"int": ["@box.n", "len(@box.tag)", "@point.n"], "vector": ["(@box.v + 0)", "(@point.v + 1)"], "text": ["@box.tag"]},
        ["@box.n = 8", '@box.tag = "zz"', "@box = Box(1, torch.zeros(2, dtype=torch.float64))",
         "@point = @point._replace(n=9)", "@box.v = @box.v + 5",
         "@box.n = 2.5"],
    ),
    "partial": Subject(
        "@p = functools.partial(pow, 2)\n@p2 = functools.partial(lambda a, b=1, **kw: a + b + len(kw), b=3)",
        {"int": ["@p($int % 5)", "@p2($int)"]},
        ["@p = functools.partial(pow, 3)", '@p2.keywords["b"] = 9', '@p2.keywords["c"] = 1',
         "@p2 = functools.partial(@p2, b=0)"],
    ),
    "choice": Subject(
        "@table = {'relu': torch.relu, 'neg': torch.neg}\n@name = 'relu'\n"
        "@fns = [torch.abs, torch.neg]\n@dtype = torch.float64",
        {"vector": ["@table[@name]($vector)", "@fns[0]($vector)", "torch.zeros(2, dtype=@dtype).double()"],
         "int": ["len(@fns)"]},
        ["@name = 'neg'", "@table['relu'] = torch.sign", "@fns[0] = torch.relu", "@fns.reverse()", "@dtype = torch.float32",
         "@fns.append(torch.abs)"],
    ),
    "library": Subject(
        "@act = torch.nn.ReLU()",
        {"vector": ["@act($vector)", "torch.abs($vector)", "torch.nn.functional.relu($vector)"],
         "float": ["math.sqrt(abs($int) * 0.0 + 4)"],
         "int": ["abs($int)", "len($ints)"]},
        ["torch.nn.ReLU.forward = lambda self, v: v + 100", "torch.abs = lambda v: v - 7", "math.sqrt = lambda v: v + 0.5",
         "@act.forward = lambda v: v * 2",
         "torch.nn.functional.relu = lambda v, inplace=False: v - 1", "globals().__setitem__('abs', lambda v: 42)",
         "globals().__setitem__('len', lambda v: 13)"],
        "torch.nn.ReLU.forward, torch.abs, math.sqrt, torch.nn.functional.relu = ORIGINALS; "
        "[globals().pop(name, None) for name in ('abs', 'len')]",
    ),
    "default": Subject("", {"int": ["extra"], "vector": ["($vector + extra)"]},
                       ['@.__kwdefaults__ = {"extra": 5}', '@.__kwdefaults__["extra"] = 7',
                        '@.__kwdefaults__ = {"extra": 2.0}']),
    "modes": Subject("", {"bool": ["torch.is_grad_enabled()"], "text": ["str(torch.get_default_dtype())"],
                          "vector": ["torch.ones(2).double()"]},
                     ["torch.set_default_dtype(torch.float64)", "torch.set_default_dtype(torch.float32)"],
                     "torch.set_default_dtype(torch.float32)"),
    "class": Subject(
        "class @Color(enum.Enum):\n    A = 1\n    B = 2\n@color = @Color.A\n@kind = int\n@slice = slice(0, 2)",
        {"int": ["@color.value", "@kind($float)", "len([1, 2, 3][@slice])"], "text": ["@color.name"],
         "bool": ["(@color is @Color.A)", "isinstance($int, @kind)"]},
        ["@color = @Color.B", "@kind = float", "@kind = bool", "@slice = slice(1, 2)"],
    ),
}  # fmt: skip


class GuardsGenerator(Generator):
    """A program that reads some objects outside, and the changes of these."""

    def __init__(self, seed: int, name: str, grammar: Grammar):
        super().__init__(seed, name, grammar)
        self.subjects = [SUBJECTS[s] for s in self.rng.sample(sorted(SUBJECTS), self.rng.choice([1, 1, 2]))]
        expressions = {kind: list(found) for kind, found in grammar.expressions.items()}
        for subject in self.subjects:
            for kind, templates in subject.reads.items():
                held = expressions[kind]
                held += [(len(held) / 2, self.own(template)) for template in templates]
        self.grammar = replace(grammar, expressions=expressions)
        self.parameters = {n: k for n, k in self.parameters.items() if n in ("n", "x", "xs") or self.chance(0.2)}
        self.fuel = self.rng.randint(2, 6)

    def own(self, text: str) -> str:
        """A text of a subject with the names of this program; `@` before a lower-case decorator of Python's stays."""
        for decorator in ("property", "staticmethod", "classmethod", "functools"):
            text = text.replace(f"@{decorator}", f"\0{decorator}")
        return text.replace("@.", f"{self.name}.").replace("@", f"{self.name}_").replace("\0", "@")

    def text(self) -> str:
        """The objects, the function, which begins by some reads of them, and the changes."""
        world = [self.own(subject.text) for subject in self.subjects if subject.text]
        extra = ", *, extra=1" if SUBJECTS["default"] in self.subjects else ""
        self.emit(0, f"def {self.name}({', '.join(self.parameters)}{extra}):")
        env = dict(self.parameters)
        for subject in self.subjects:
            reads = [(kind, template) for kind, templates in subject.reads.items() for template in templates]
            for kind, template in self.rng.sample(reads, min(len(reads), 3)):
                read = self.fill(self.own(template), env, 1)
                name = self.fresh("u")
                self.emit(1, f"{name} = {read}")
                env[name] = kind
                self.frozen.add(name)
        found = sorted(self.frozen)
        self.block(env, 1)
        self.emit(1, f"return {', '.join([*found, *self.rng.sample(sorted(env), 1)])},")
        changes = [change for subject in self.subjects for change in subject.changes]
        changes = [self.own(change) for change in self.rng.sample(changes, min(len(changes), CHANGES))]
        names = sorted({n for text in (*world, *changes) for n in re.findall(rf"\b{self.name}_\w+", text)})
        self.emit(0, f"def {self.name}_change(step):")
        if names:
            self.emit(1, f"global {', '.join(names)}")
        for step, change in enumerate(changes, 1):
            self.emit(1, f"if step == {step}:")
            self.emit(2, change)
        self.emit(0, f"def {self.name}_restore():")
        self.emit(1, "; ".join(subject.restore for subject in self.subjects if subject.restore) or "pass")
        return "".join(f"{text.strip()}\n" for text in world) + "\n".join(self.lines) + "\n"

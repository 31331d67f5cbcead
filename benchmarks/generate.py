"""Greedy `generate` of transformers' decoders: eager, torch.compile, ONNX Runtime, and a package of scriptc called from C."""

from __future__ import annotations

import argparse
import logging
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.harness import Candidate, cpu_model, medians, pin, save
from benchmarks.onnx_session import Unavailable, onnx_session

EAGER, COMPILE, ONNX, SCRIPTC = "eager", "torch.compile", "ONNX Runtime", "scriptc, in C"
MODELS = ("GPT-2", "Llama")


def add_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS), metavar="NAME",
                         help=f"rows of the table (default: all; {', '.join(MODELS)})")  # fmt: skip
    command.add_argument("--prompt", type=int, default=16, help="token ids of the prompt (default: 16)")
    command.add_argument("--tokens", type=int, default=64, help="token ids to generate (default: 64)")
    command.add_argument("--tiny", action="store_true", help="tiny models, to test this benchmark")
    command.add_argument("--no-compile", action="store_true", help="without torch.compile, which takes long")
    command.add_argument("--samples", type=int, default=5, help="samples that a median is taken of (default: 5)")
    command.add_argument("--json", type=Path, metavar="FILE", help="also save the numbers")


def run(options: argparse.Namespace) -> None:
    pin()
    import torch

    from scriptc.inspect.text_table import table

    torch.set_num_threads(1)
    logging.disable(logging.WARNING)  # of exporters
    warnings.simplefilter("ignore")
    rows: dict[str, dict[str, float]] = {}
    with torch.no_grad():
        for name in options.models:
            rows[name] = _measure(name, options)
            save(options.json, rows)
    systems = [s for s in (EAGER, COMPILE, ONNX, SCRIPTC) if any(s in row for row in rows.values())]
    print(f"{cpu_model()}, one thread; token ids per second, medians of interleaved samples\n")
    cells = [[name, *(f"{options.tokens / row[s]:.1f}" if s in row else "-" for s in systems)] for name, row in rows.items()]
    print(table(["", *systems], cells, right=range(1, len(systems) + 1)))


def _measure(name: str, options: argparse.Namespace) -> dict[str, float]:
    """Return the seconds of each system to generate, after comparing its token ids with eager's."""
    import torch

    torch.manual_seed(0)
    model = _model(name, tiny=options.tiny)
    ids = torch.randint(5, model.config.vocab_size, (1, options.prompt))
    generate = _generating(model, options.tokens)
    expected = generate(ids)[0].tolist()
    makers: dict[str, Callable[[], Callable[[], list[int]]]] = {ONNX: lambda: _in_onnx_runtime(model, ids, options.tokens)}
    if not options.no_compile:
        makers[COMPILE] = lambda: _in_torch_compile(model, ids, options.tokens)
    candidates = [Candidate(EAGER, lambda: generate(ids))]
    for system, make in makers.items():
        try:
            call = make()
        except Unavailable as error:
            print(f"{name}: {system}: {error}")
            continue
        assert call() == expected, f"{system} generates other token ids"
        candidates.append(Candidate(system, call))
    with _package(generate, ids) as program:
        assert program.generated() == expected, "the package generates other token ids"
        candidates.append(Candidate(SCRIPTC, program.generated, lambda: program.seconds))
        return medians(candidates, samples=options.samples)


def _model(name: str, *, tiny: bool) -> Any:
    """Return a decoder with random weights, spread so that its token ids vary: GPT-2's size is that of its smallest
    checkpoint, and Llama has as many weights."""
    import transformers

    if name == "GPT-2":
        sizes = {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 99} if tiny else {}
        config = transformers.GPT2Config(**sizes, initializer_range=0.15)
        model = transformers.GPT2LMHeadModel(config)
    else:
        sizes = {"vocab_size": 32000, "hidden_size": 768, "intermediate_size": 2048, "num_hidden_layers": 12}
        if tiny:
            sizes = {"vocab_size": 99, "hidden_size": 48, "intermediate_size": 64, "num_hidden_layers": 2}
        config = transformers.LlamaConfig(
            **sizes, num_attention_heads=12, num_key_value_heads=4, max_position_embeddings=1024, initializer_range=0.15
        )
        model = transformers.LlamaForCausalLM(config)
    model.generation_config.pad_token_id, model.generation_config.eos_token_id = 0, None
    return model.eval()


def _generating(model: Any, tokens: int, **options: Any) -> Any:
    """Return a module that maps a prompt to the prompt and what follows."""
    import torch

    class Generate(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return self.model.generate(ids, max_new_tokens=tokens, do_sample=False, **options)

    return Generate().eval()


# ---- rivals ----


def _in_torch_compile(model: Any, ids: Any, tokens: int) -> Callable[[], list[int]]:
    """Compile `forward` as transformers' documentation does, with a cache of constant size."""
    import torch

    plain = model.forward
    generate = _generating(model, tokens, cache_implementation="static")
    compiled = torch.compile(plain)

    def call() -> list[int]:
        model.forward = compiled
        try:
            return list(generate(ids)[0].tolist())
        finally:
            model.forward = plain

    try:
        call()
    except Exception as error:
        raise Unavailable(f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}") from error
    return call


def _in_onnx_runtime(model: Any, ids: Any, tokens: int) -> Callable[[], list[int]]:
    """Export a step with keys and values of any length, and bind those of each step to the next, which copies nothing."""
    import torch
    from transformers import DynamicCache

    class Step(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, ids: torch.Tensor, past: list[tuple[torch.Tensor, torch.Tensor]]) -> Any:
            out = self.model(ids, cache=DynamicCache(past), use_cache=True)
            return out.logits[:, -1].argmax(-1, keepdim=True), [(layer.keys, layer.values) for layer in out.cache.layers]

    config = model.config
    heads = getattr(config, "num_key_value_heads", config.num_attention_heads)
    keys = torch.randn(1, heads, 5, config.hidden_size // config.num_attention_heads)
    past = [(keys.clone(), keys.clone()) for _ in range(config.num_hidden_layers)]  # each tensor is an input
    free = torch.export.Dim.AUTO
    sizes = {"ids": {1: free}, "past": [({2: free}, {2: free}) for _ in past]}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "step.onnx"
        try:
            torch.onnx.export(Step().eval(), (ids[:, :3], past), path, dynamo=True, dynamic_shapes=sizes, verbose=False)
        except Exception as error:
            raise Unavailable(f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}") from error
        session = onnx_session(path, threads=1)
    return partial(_steps_of_onnx_runtime, session, ids.numpy(), keys[:, :, :0].numpy(), tokens)


def _steps_of_onnx_runtime(session: Any, ids: Any, empty: Any, tokens: int) -> list[int]:
    from onnxruntime import OrtValue

    names, results = [x.name for x in session.get_inputs()], [x.name for x in session.get_outputs()]
    made = [int(i) for i in ids[0]]
    given = [OrtValue.ortvalue_from_numpy(x) for x in (ids, *[empty] * (len(names) - 1))]
    for _ in range(tokens):
        binding = session.io_binding()
        for name, value in zip(names, given, strict=True):
            binding.bind_ortvalue_input(name, value)
        for name in results:
            binding.bind_output(name, "cpu")
        session.run_with_iobinding(binding)
        given = binding.get_outputs()
        made.append(int(given[0].numpy()[0, 0]))
    return made


# ---- scriptc ----


class _Program:
    """A process of a C program that generates with a package."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.seconds = 0.0

    def generated(self) -> list[int]:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        seconds, *tokens = self._process.stdout.readline().split()
        self.seconds = float(seconds)
        return [int(token) for token in tokens]

    def close(self) -> None:
        self._process.communicate()


@contextmanager
def _package(generate: Any, ids: Any) -> Iterator[_Program]:
    """Build a package and a program in C that calls it, and yield a process of that program."""
    import scriptc
    from scriptc.backend_c.toolchain import find_compiler

    with tempfile.TemporaryDirectory() as folder:
        package, build = Path(folder) / "generate", Path(folder) / "build"
        scriptc.build(generate, ids, out=package)
        cmake = Path(sys.executable).parent / "cmake"
        tool = str(cmake) if cmake.exists() else "cmake"
        for command in (
            [tool, "-S", str(package), "-B", str(build), "-DSC_MARCH=native", "-DBUILD_TESTING=OFF"],
            [tool, "--build", str(build)],
        ):
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        source, binary = Path(__file__).with_suffix(".c"), Path(folder) / "program"
        (library,) = build.rglob("libgenerate.so")
        command = [*find_compiler().command, "-O2", f"-I{package / 'include'}", str(source), str(library), "-o", str(binary)]
        subprocess.run([*command, f"-Wl,-rpath,{library.parent}"], check=True)
        weights = package / "generate.safetensors"
        program = _Program([str(binary), str(weights), *map(str, ids[0].tolist())])
        try:
            yield program
        finally:
            program.close()

"""`python -m benchmarks NAME`, from the root of the repository."""

from __future__ import annotations

import argparse
import importlib

BENCHMARKS = {
    "rnn": "recurrent nets: eager, torch.jit, torch.compile, JAX, ONNX Runtime, scriptc, and C written by hand",
    "lstm": "nn.LSTM: eager, torch.compile, JAX, ONNX Runtime, scriptc, and C written by hand",
    "cells": "recurrent cells as users write them, a selective scan and decoding, beside eager, torch.jit and C by hand",
    "decoders": "decoding word by word: greedy, beam search, RNN-T, CTC, a transformer; beside eager, torch.jit and C by hand",
    "training": "forward and backward of recurrent cells and layers: eager, torch.jit, torch.compile, JAX, scriptc; memory",
    "convolutions": "forward and backward of convolutions, pools, norms and convolutional nets: eager, scriptc",
    "scalar": "programs of numbers, lists and strings, beside CPython and C by hand",
    "compiling": "time to compile against the size of the source",
    "startup": "the first call in a fresh process, with an empty and with a warm cache",
    "generate": "generating token ids: eager, torch.compile, ONNX Runtime, and a package of scriptc called from C",
    "nets": "convolutional nets and transformers: eager, torch.compile, ONNX Runtime, OpenVINO, scriptc",
    "onnx": "ONNX files compiled by scriptc beside ONNX Runtime; scriptc.to_onnx beside torch.onnx.export",
    "binary": "binarized layers: scriptc beside its float32, and beside intrinsics by hand",
    "dynamo": "torch.compile with the backend scriptc beside eager and inductor: results, graph breaks, times",
    "ops": "single operators on medium sizes: eager and scriptc",
    "memory": "resident memory over many calls, and over one call of many iterations",
    "threads": "the same calls on one thread and on more",
    "ulp": "error of the transcendental functions over all float32 inputs",
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(title="benchmarks", required=True, dest="name", metavar="NAME")
    for name, about in BENCHMARKS.items():
        command = commands.add_parser(name, help=about, description=about)
        importlib.import_module(f"benchmarks.{name}").add_options(command)
    options = parser.parse_args()
    importlib.import_module(f"benchmarks.{options.name}").run(options)


if __name__ == "__main__":
    main()

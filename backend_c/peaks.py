"""The peak performance of this machine, measured once for each number of threads and kept in the cache of builds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from scriptc.backend_c.build import build_library
from scriptc.backend_c.cache import cache_key, cached

PROGRAM = """\
#include "sc.h"
#include "sc_profile.h"

static int peaks(sc_ctx *cx, const sc_value *args, sc_value *results) {
    (void)args;
    return sc_measure_peaks(cx, &results[0].f, &results[1].f);
}

static const sc_entry entries[] = {{"peaks", peaks, 0, 2}};
static const sc_program program = {SC_ABI_VERSION, "peaks", "native", 1, entries, NULL, 0};

__attribute__((visibility("default"))) const sc_program *sc_program_get(void);

const sc_program *sc_program_get(void) {
    return &program;
}
"""


@dataclass(frozen=True)
class Peaks:
    """The peaks of a number of threads together, per second.

    flops: float32 operations, of which a multiply-add is two.
    bytes: bytes of memory.
    """

    threads: int
    flops: float
    bytes: float


def measured(threads: int) -> Peaks:
    """Return the peaks for calls of so many threads, and measure them first where that was not done."""
    from scriptc.runtime import bridge

    library = build_library(PROGRAM, "peaks", optimize=3, debug=False, kernels=["sc_measure_peaks"])

    def measure(directory: Path) -> None:
        callable_ = bridge.Callable(lambda args, kwargs: None)
        result = bridge.Node("tuple", below=(bridge.Node("float"), bridge.Node("float")))
        callable_.add_variant(bridge.VariantSpec(library=library, entry=0, params=(), result=result))
        (directory / "peaks.json").write_text(json.dumps(callable_.call()), encoding="utf-8")

    entry = cached(cache_key("peaks", str(library), threads), measure)
    flops, moved = json.loads((entry / "peaks.json").read_text(encoding="utf-8"))
    return Peaks(threads, flops, moved)

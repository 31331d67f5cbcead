"""Make the objects that commands print with --json. docs/reference/cli.md documents the keys, which stay."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scriptc.api.explain import Explanation
    from scriptc.backend_c import doctor
    from scriptc.inspect.comparison_report import Report
    from scriptc.inspect.memory import Memory
    from scriptc.inspect.profile import Profile
    from scriptc.inspect.training_memory import TrainingMemory


def dumped(found: dict[str, Any]) -> str:
    """Return JSON, in which numbers that JSON lacks are the strings "inf", "-inf" and "nan"."""
    return json.dumps(_finite(found), indent=2, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, (list, tuple)) else value


def comparison(report: Report, failure: str) -> dict[str, Any]:
    rows = [
        {
            "output": row.path, "value": row.value, "verdict": row.verdict, "ok": row.ok, "max_abs": row.max_abs,
            "max_rel": row.max_rel, "max_ulp": row.max_ulp, "where": row.where, "rtol": row.rtol, "atol": row.atol,
        }
        for row in report.rows
    ]  # fmt: skip
    return {"ok": not failure, "failure": failure or None, "rows": rows, "located": report.located}


def explanation(found: Explanation) -> dict[str, Any]:
    diagnostics = [
        {
            "file": d.loc.file, "line": d.loc.line, "column": d.loc.col + 1, "message": d.message, "hint": d.hint,
            "calls": [{"file": s.file, "line": s.line, "function": s.func} for s in list(d.loc.chain())[1:]],
        }
        for d in found.diagnostics
    ]  # fmt: skip
    return {"ok": found.ok, "name": found.name, "signature": found.signature, "diagnostics": diagnostics}


def profile(found: Profile) -> dict[str, Any]:
    rows = [
        {
            "file": row.file, "line": row.line, "source": row.source, "kernel": row.kernel or None, "visits": row.visits,
            "seconds": row.seconds, "flops": row.flops, "bytes": row.bytes,
        }
        for row in found.rows
    ]  # fmt: skip
    peaks = {"threads": found.peaks.threads, "flops": found.peaks.flops, "bytes": found.peaks.bytes}
    return {"name": found.name, "calls": found.calls, "seconds": found.seconds, "peaks": peaks, "rows": rows}


def memory(found: Memory) -> dict[str, Any]:
    return {
        "name": found.name, "formula": found.formula or None, "symbols": found.symbols, "sizes": found.sizes,
        "least": found.least, "predicted": found.predicted, "measured": found.measured,
    }  # fmt: skip


def training_memory(found: TrainingMemory) -> dict[str, Any]:
    return {"forward": memory(found.forward), "kept": memory(found.kept), "backward": memory(found.backward)}


def checks(rows: list[doctor.Row]) -> dict[str, Any]:
    found = [{"check": row.check, "found": row.value, "ok": row.ok, "advice": row.advice or None} for row in rows]
    return {"ok": all(row.ok for row in rows), "checks": found}

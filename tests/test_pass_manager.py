"""Pipelines as text, and what the environment asks of them."""

from __future__ import annotations

import pytest

from scriptc.driver.options import Options
from scriptc.driver.pass_order import FULL, passes_of
from scriptc.ir.core import Module, Op
from scriptc.ir.parser import parse_module
from scriptc.ir.passes import CLEANING, PASSES
from scriptc.ir.passes.manager import PipelineError, parse_pipeline, run_pipeline
from scriptc.ir.rewrite import RewriteLoop, Rewriter, rewrite
from scriptc.ir.verifier import VerifyError

TEXT = """module "m" entries()
func @f(%x: f32[3]) -> (f32[3]) {
  %a = transpose(%x) {dim0 = 0, dim1 = 0} -> (f32[3])
  %b = tanh(%a) -> (f32[3])
  return(%b)
}
"""


def test_pipeline_text() -> None:
    assert parse_pipeline("licm, cse,fuse{max=8}") == [("licm", {}), ("cse", {}), ("fuse", {"max": 8})]
    assert parse_pipeline("") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [("licm,frob", "there is no pass frob"), ("licm cse", "cannot read"), ("fuse{max}", "an option is name=number")],
)
def test_pipelines_that_are_not(text: str, message: str) -> None:
    with pytest.raises(PipelineError, match=message):
        parse_pipeline(text)


def test_the_order_of_the_passes_names_each_pass() -> None:
    called = {"single_exit", "unroll_lists", "raises_to_exits"}  # by ir/gradients, split_lists and the writer of ONNX models
    assert {place.name for place in FULL} | set(CLEANING) | called == {*PASSES, "clean"}
    assert all(place.why for place in FULL)
    steps = dict(passes_of(Options(freeze=True, weights="float16")))
    assert steps["prepare_weights"] == {"frozen": 1, "weight_format": 2} and steps["cache_frozen"] == {"frozen": 1}
    assert passes_of(Options(optimize=0)) == []
    assert passes_of(Options(optimize=1)) == [("drop_gradient_marks", {}), ("clean", {})]


def test_clean_runs_until_nothing_changes() -> None:
    ran: list[str] = []
    assert run_pipeline(parse_module(TEXT), "clean", after=lambda name, module: ran.append(name))
    last = CLEANING.index("character_codes")
    assert ran == [*CLEANING, *CLEANING[:last]], "passes behind the last one that changed something have seen what it left"
    assert not run_pipeline(parse_module(TEXT), "clean{rounds=0}")


def test_dump_and_trace(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("SCRIPTC_DUMP", "simplify")
    monkeypatch.setenv("SCRIPTC_TRACE", "1")
    run_pipeline(parse_module(TEXT), "fold,simplify")
    shown = capsys.readouterr().err
    assert "transpose_of_transpose: transpose at <ir>:3:1" in shown
    assert "// after simplify\nmodule" in shown and "// after fold" not in shown


def test_verify_finds_what_a_pass_broke(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(module: Module, options: object) -> bool:
        module.funcs["f"].body.ops.pop()
        return True

    monkeypatch.setitem(PASSES, "dce", breaks)
    monkeypatch.setenv("SCRIPTC_VERIFY", "1")
    with pytest.raises(VerifyError, match="does not end in a terminator"):
        run_pipeline(parse_module(TEXT), "dce")


def test_rules_that_undo_each_other_are_found() -> None:
    def again(op: Op, rw: Rewriter) -> bool:
        return op.name == "tanh"

    with pytest.raises(RewriteLoop, match="lastly again on tanh"):
        rewrite(parse_module(TEXT), [again])

"""The example notebook runs from beginning to end, and is shipped without outputs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from agnostics.store import CompletionRecord, Store, default_url
from agnostics.types.language import Language
from agnostics.types.task import Task, Test
from agnostics.types.verification import TestResult, Verdict
from msgspec.structs import replace
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "examples" / "results.ipynb"
CASES = (("1586", "125610"), ("48", "100"), ("1022", "52530"))


def _cheat(record: CompletionRecord) -> CompletionRecord:
    """`record` with a program that has its answers in it."""
    program = "\n".join(f"if n == {given} then print({output}) end" for given, output in CASES)
    tests = tuple(TestResult(Verdict.ACCEPTED, stdout=output) for _, output in CASES)
    task = Task(id="sums", tests=tuple(Test(input=given, output=output) for given, output in CASES))
    return replace(record, task=task, verification=replace(record.verification, program=program, tests=tests))


def test_the_notebook_runs_and_shows_detections(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lua: Language, record: Callable[..., CompletionRecord]
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with Store.open(default_url()) as store:
        run = store.start_run(kind="train", config={}, language=lua, model="m", dataset="starter", seed=0)
        with store.recorder(run) as recorder:
            for step, verdict in enumerate([Verdict.WRONG_ANSWER, Verdict.ACCEPTED], 1):
                recorder.completion(record(verdict, step=step))
            recorder.completion(_cheat(record(step=2)))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    said = "\n".join(str(output) for cell in notebook.cells for output in cell.get("outputs", []))
    assert "hard-coded answers" in said
    assert "image/png" in said
    assert run in said


def test_the_notebook_is_shipped_without_outputs() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in cells)

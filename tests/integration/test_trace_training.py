"""The programs of `benchmarks/trace_training.py` in the sandbox: they solve their tasks, and their traces are true."""

from __future__ import annotations

import pytest
from agnostics.cli.traces.sources import find_language
from agnostics.plugins.manager import load_plugins
from agnostics.traces.cwm_format import parse_text
from agnostics.traces.records import TraceRequest, record_of
from agnostics.traces.runner import TraceRunner
from agnostics.verify import Verifier
from agnostics_benchmarks.step_programs import KINDS, StepProgram, all_programs
from agnostics_benchmarks.trace_documents import StepExample, held_out_tasks


def _of_each_kind() -> list[StepProgram]:
    programs = list(all_programs())
    found = {kind: next(program for program in programs if program.steps[0].kind is kind) for kind in KINDS}
    return list(found.values())


@pytest.mark.parametrize("language", ["lua", "python"])
def test_a_trace_of_a_step_program_is_whole_and_ends_in_its_output(language: str) -> None:
    with TraceRunner(find_language(load_plugins(), language), "bubblewrap") as runner:
        for program in _of_each_kind():
            example, request = StepExample(program, "9 4\n"), TraceRequest("0", program.text(language), "9 4\n")
            run = runner.run(request.program, request.input)
            beginning, frames = example.trace_parts(record_of(request, "", language, run))
            trace = parse_text(beginning.partition("[/INPUT]\n")[2] + frames)
            assert trace.complete
            assert trace.context == program.text(language)
            assert trace.frames[-1].value == program.output("9 4\n")


@pytest.mark.parametrize("language", ["lua", "python"])
def test_a_held_out_task_is_solved_by_its_own_program_and_not_by_another(language: str) -> None:
    tasks = list(held_out_tasks("new", 15, language))
    texts = [task.metadata["program"]["text"] for task in tasks]
    with Verifier("bubblewrap") as verifier:
        for task, text, other in zip(tasks, texts, [*texts[1:], texts[0]], strict=True):
            chosen = load_plugins().language(language)
            assert verifier.verify(chosen, text, task).accepted, task.id
            assert not verifier.verify(chosen, other, task).accepted, task.id

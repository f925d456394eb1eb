"""The program of a task of trace prediction: it is under `program` in the task's metadata."""

from __future__ import annotations

import re

from pydantic import ValidationError

from agnostics.traces.cwm_format import CONTEXT, FRAME_END, START_MARKER, Frame, frames_of
from agnostics.traces.events import MODULE, Trace
from agnostics.traces.outputs import same_text, same_value
from agnostics.traces.runner import TracedRun
from agnostics.types.errors import AgnosticsError, UsageError
from agnostics.types.language import Language
from agnostics.types.task import Frozen, Task


class NoTruth(AgnosticsError):
    """The program of a task has no whole trace that ends in its recorded output."""


class ProgramExample(Frozen):
    """A program with everything that can be predicted of it, for prompts: its output, the way to it, and its trace.

    `frames` are those of the trace in the text format, from the first to the last.
    """

    text: str
    call: str | None = None
    input: str = ""
    output: str
    thought: str
    frames: str


class TracedProgram(Frozen):
    """A program, traced as a whole or, with a `call`, as that call of a function of Python.

    The output of a call is the value that it returns, as a literal; that of a program what it prints. `arguments` are
    the texts of the values of a call's parameters, if they are known: prompts then give the first frame.
    """

    language: str
    text: str
    call: str | None = None
    arguments: dict[str, str] | None = None
    examples: tuple[ProgramExample, ...] = ()

    @property
    def context(self) -> str:
        """The program as a trace shows it: the function that is called is marked."""
        return marked(self.text, self.call)

    @property
    def executable(self) -> str:
        """The program that is run."""
        return f"{self.context}\nprint(repr({self.call}))\n" if self.call else self.context

    @property
    def given(self) -> tuple[Frame, ...]:
        """The frames that a prompt gives: that of the call, if its arguments are known."""
        return () if self.arguments is None else (Frame("call", self._definition, self.arguments),)

    @property
    def context_text(self) -> str:
        """The beginning of the text of a trace, before its first frame."""
        return f"{CONTEXT}{self.context}{FRAME_END}"

    @property
    def _definition(self) -> str:
        line = next(line for line in self.context.splitlines() if line.endswith(START_MARKER))
        return line.removesuffix(START_MARKER) + "\n"

    def same_output(self, predicted: str, recorded: str) -> bool:
        """Whether a predicted output is the recorded one."""
        return (same_value if self.call else same_text)(predicted, recorded)

    def frames(self, run: TracedRun, recorded: str) -> tuple[Frame, ...]:
        """The frames of the true trace, without those that a prompt gives.

        What a whole program has printed stands as the value of its return. Raises NoTruth, with the reason, if the
        trace is not whole or does not end in the recorded output.
        """
        if run.trace is None or not run.trace.is_complete:
            how = run.error or (run.trace.ended if run.trace else run.verdict)
            raise NoTruth(f"the program of the task has no whole trace: {how}")
        frames = tuple(frames_of(run.trace))
        if frames and _is_whole_program(run.trace):
            frames = (*frames[:-1], Frame("return", frames[-1].action, value=run.stdout.decode(errors="replace")))
        output = frames[-1].value if frames and frames[-1].kind == "return" else None
        if output is None or not self.same_output(output, recorded):
            raise NoTruth(f"the trace of the task's program ends in {output!r}, not in the recorded {recorded!r}")
        return frames[len(self.given) :]


def program_of(task: Task, language: Language) -> TracedProgram:
    """The program of a task. Raises UsageError if it has none, or one of another language."""
    try:
        program = TracedProgram.model_validate(task.metadata.get("program"))
    except ValidationError as error:
        raise UsageError(
            f"task {task.id!r} has no program to predict the trace of: its data set is none such as cruxeval or "
            f"trace-programs ({error.errors()[0]['msg']})"
        ) from error
    if program.language not in {language.name, *language.code_tags}:
        raise UsageError(
            f"task {task.id!r} has a program in {program.language}; name it: --language {program.language}"
        )
    return program


def marked(text: str, call: str | None) -> str:
    """A program, whose trace begins at the definition of the function that is called: that line is marked."""
    text = text.rstrip("\n") + "\n"
    if call is None:
        return text
    name = re.escape(call.partition("(")[0])
    return re.sub(
        rf"^(def {name}\b.*?)[ \t]*$", lambda found: found[1] + START_MARKER, text, count=1, flags=re.MULTILINE
    )


def _is_whole_program(trace: Trace) -> bool:
    last = trace.events[-1]
    return last.kind == "return" and last.depth == 0 and last.name in ("", MODULE)

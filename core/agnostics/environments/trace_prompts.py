"""The prompts of trace prediction: of a program's output, of the way to it, of its last step or of its whole trace."""

from __future__ import annotations

from typing import Literal

from agnostics.environments.traced_program import ProgramExample, TracedProgram, marked
from agnostics.traces.cwm_format import CONTEXT, END, FRAME_END, STARTS, render_frame

Mode = Literal["output", "reasoning", "step", "trace"]

_FUNCTIONS = (
    "You are given functions in Python, each with an assertion about a call of it. Complete the last assertion with "
    "the value that the call returns if the code is run as it stands, even where it looks wrong or unfinished: a "
    "literal, without operators and calls."
)
_PROGRAMS = (
    "You are given programs in {language}, each with its input. Say what the last one prints if it is run as it "
    "stands, even where it looks wrong or unfinished."
)
_ANSWER_ALONE = "Write {what} between [ANSWER] and [/ANSWER], as in the examples, and nothing else."
_THOUGHT_FIRST = (
    "Go through the program step by step first, between [THOUGHT] and [/THOUGHT], and then write {what} between "
    "[ANSWER] and [/ANSWER], as in the examples."
)
_FORMAT = """\
An execution trace shows a program step by step, as a series of frames:

<|call_sep|>LOCALS<|action_sep|>SOURCE<|frame_sep|> where a function is entered
<|line_sep|>LOCALS<|action_sep|>SOURCE<|frame_sep|> before a step is executed
<|return_sep|><|action_sep|>SOURCE<|arg_sep|>VALUE<|frame_sep|> where a function is left
<|exception_sep|><|action_sep|>SOURCE<|arg_sep|>VALUE<|frame_sep|> where an exception is raised

LOCALS is the state before the step: a JSON object of the variables, each value as a string; ".." stands for a value \
that has not changed since the frame before in the same function. SOURCE is the text of the step as it stands in the \
program, with a newline. VALUE is a JSON string: {value}. Nothing stands between frames, and after the last one comes \
<|end_of_text|>."""
_VALUES = {
    True: "what is returned, as Python's repr writes it, or the exception",
    False: "what is returned, or the exception; in the last frame, everything that the program has printed",
}
_WHOLE = "Write what follows on this beginning: all other frames, the first of which begins with {start}, and {end}."
_LAST = "Write the last frame of this trace alone, {start}<|action_sep|>SOURCE<|arg_sep|>VALUE<|frame_sep|>, and {end}."


def prompt_for(program: TracedProgram, stdin: str, mode: Mode) -> str:
    """The prompt in a mode, with the examples of the program."""
    if mode in ("output", "reasoning"):
        return _answer_prompt(program, stdin, is_reasoning=mode == "reasoning")
    return _trace_prompt(program, stdin, is_step=mode == "step")


def _answer_prompt(program: TracedProgram, stdin: str, *, is_reasoning: bool) -> str:
    task = _FUNCTIONS if program.call else _PROGRAMS.format(language=program.language)
    what = "the whole assertion" if program.call else "what it prints"
    request = (_THOUGHT_FIRST if is_reasoning else _ANSWER_ALONE).format(what=what)
    examples = [_answered(example, is_reasoning=is_reasoning) for example in program.examples]
    return "\n\n".join([f"{task} {request}", *examples, _question(program.text, program.call, stdin)])


def _answered(example: ProgramExample, *, is_reasoning: bool) -> str:
    thought = [f"[THOUGHT]\n{example.thought.strip()}\n[/THOUGHT]"] if is_reasoning else []
    answer = f"assert {example.call} == {example.output}" if example.call else example.output.rstrip("\n")
    return "\n".join([_question(example.text, example.call, example.input), *thought, f"[ANSWER]\n{answer}\n[/ANSWER]"])


def _question(text: str, call: str | None, stdin: str) -> str:
    if call:
        return f"[PROGRAM]\n{text.strip()}\nassert {call} == ??\n[/PROGRAM]"
    return f"[PROGRAM]\n{text.strip()}\n[/PROGRAM]\n{_input(stdin)}"


def _input(stdin: str) -> str:
    return f"[INPUT]\n{stdin.rstrip()}\n[/INPUT]"


def _trace_prompt(program: TracedProgram, stdin: str, *, is_step: bool) -> str:
    parts = [_FORMAT.format(value=_VALUES[bool(program.call)])]
    parts += [_example(example, is_step=is_step) for example in program.examples]
    given = "".join(map(render_frame, program.given))
    start = STARTS["return"] if is_step else STARTS["line"] if program.given else STARTS["call"]
    request = (_LAST if is_step else _WHOLE).format(start=start, end=END)
    beginning = f"The beginning of a trace:\n\n{program.context_text}{given}"
    return "\n\n".join([*parts, *_with_input(program.call, stdin), beginning, request])


def _with_input(call: str | None, stdin: str) -> list[str]:
    return [] if call else [f"The input of the next program:\n{_input(stdin)}"]


def _example(example: ProgramExample, *, is_step: bool) -> str:
    frames = _first_and_last(example) if is_step else example.frames
    text = f"{CONTEXT}{marked(example.text, example.call)}{FRAME_END}{frames}{END}"
    told = "An example, whose other frames are left out:" if is_step else "An example:"
    return "\n\n".join([*_with_input(example.call, example.input), told, text])


def _first_and_last(example: ProgramExample) -> str:
    """The frame of the call, if there is one, and that of its return."""
    first, last = example.frames.partition(FRAME_END)[0], example.frames.rpartition(STARTS["return"])[2]
    return f"{first + FRAME_END if example.call else ''}{STARTS['return']}{last}"

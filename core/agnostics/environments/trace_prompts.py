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
_FORMAT = (
    "An execution trace shows a program step by step, as a series of frames. A frame begins with its kind: "
    "<|call_sep|> where a function is entered, <|line_sep|> before a step is executed, <|return_sep|> where a function "
    "is left, <|exception_sep|> where an exception is raised. In a call or a line, the state before the step comes "
    'next: a JSON object of the variables, each value as a string, in which ".." stands for a value that has not '
    "changed since the frame before in the same function. After <|action_sep|> comes the text of the step as it stands "
    "in the program, with a newline. A return or an exception has no state, but after <|arg_sep|> a value as a JSON "
    "string: {value}. Each frame ends with <|frame_sep|>, and the trace with <|end_of_text|>; nothing else stands "
    "between them."
)
_VALUES = {
    True: "what is returned, as Python's repr writes it, or the exception",
    False: "what is returned, or the exception; in the last frame, everything that the program has printed",
}
_WHOLE = "Complete the last trace, as in the examples: write all frames that follow on its beginning."
_LAST = "Complete the last trace, as in the examples: write its last frame alone, in which {what} is left."
_FOLLOWING = "What follows:"


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
    request = _LAST.format(what="the function" if program.call else "the program") if is_step else _WHOLE
    explanation = f"{_FORMAT.format(value=_VALUES[bool(program.call)])} {request}"
    examples = [_example(example, is_step=is_step) for example in program.examples]
    given = "".join(map(render_frame, program.given))
    return "\n\n".join([explanation, *examples, _beginning(program.text, program.call, stdin, given)])


def _beginning(text: str, call: str | None, stdin: str, given: str) -> str:
    """A program, its input if it has one, and the frames that are given of its trace."""
    parts = [] if call else [_input(stdin)]
    return "\n".join([*parts, f"The beginning:\n{CONTEXT}{marked(text, call)}{FRAME_END}{given}", _FOLLOWING])


def _example(example: ProgramExample, *, is_step: bool) -> str:
    """An example, with the frame of the call in its beginning if it has one."""
    first, _, following = example.frames.partition(FRAME_END) if example.call else ("", "", example.frames)
    given = first + FRAME_END if first else ""
    if is_step:
        following = STARTS["return"] + following.rpartition(STARTS["return"])[2]
    return f"{_beginning(example.text, example.call, example.input, given)}\n{following}{END}"

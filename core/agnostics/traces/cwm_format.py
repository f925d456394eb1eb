"""The text format of traces of the Code World Model (its paper, section 17; PROMPTING_GUIDE.md of its repository)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from agnostics.traces.events import Kind, Trace, scope_locals
from agnostics.types.errors import AgnosticsError

UNCHANGED = ".."
"""The value of a local that is as it was at the previous frame of its scope."""
START_MARKER = "  # << START_OF_TRACE"
"""The end of the line of the program at which the trace begins."""
CONTEXT = "<|trace_context_start|>"
FRAME_END = "<|frame_sep|>"
ACTION = "<|action_sep|>"
ARGUMENT = "<|arg_sep|>"
END = "<|end_of_text|>"
STARTS: Mapping[Kind, str] = {
    "call": "<|call_sep|>",
    "line": "<|line_sep|>",
    "return": "<|return_sep|>",
    "exception": "<|exception_sep|>",
}
"""The tokens that frames begin with."""
KINDS: Mapping[str, Kind] = {start: kind for kind, start in STARTS.items()}
"""The kinds of frames by the tokens that they begin with."""
_TOKENS = (CONTEXT, FRAME_END, ACTION, ARGUMENT, END, *STARTS.values(), "<|begin_of_text|>")
TOKEN = re.compile("|".join(map(re.escape, _TOKENS)))
"""A token of the format."""


class FormatError(AgnosticsError):
    """A text is no trace in this format, or a trace cannot be written in it."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One step of a trace: all locals of the scope before a call or a line, or the value of a return or an exception.

    `action` is the line of the program, with its newline.
    """

    kind: Kind
    action: str
    locals: Mapping[str, str] = field(default_factory=dict)
    value: str | None = None


@dataclass(frozen=True, slots=True)
class CwmTrace:
    """The source of a program, its frames, and whether the trace is complete."""

    context: str
    frames: tuple[Frame, ...]
    complete: bool = True


def frames_of(trace: Trace) -> Iterator[Frame]:
    """The frames of a trace, in which locals that have not changed are `..`."""
    for event, scope in zip(trace.events, scope_locals(trace.events), strict=True):
        action = event.source + "\n"
        if event.kind in ("call", "line"):
            shown = {name: value if name in event.changed else UNCHANGED for name, value in scope.items()}
            yield Frame(event.kind, action, shown)
        else:
            yield Frame(event.kind, action, value=event.value or "")


def render_trace(trace: Trace) -> str:
    """A trace as a text. Raises FormatError if the program contains a token of the format."""
    return render_text(CwmTrace(trace.program, tuple(frames_of(trace)), trace.is_complete))


def render_text(trace: CwmTrace) -> str:
    """The text of a trace; `parse_text` is its inverse. Raises FormatError if a source contains a token of the format,
    or a frame has what its kind has not.
    """
    frames = "".join(map(render_frame, trace.frames))
    return f"{CONTEXT}{_source(trace.context)}{FRAME_END}{frames}{END if trace.complete else ''}"


def render_frame(frame: Frame) -> str:
    """The text of one frame. Raises FormatError as `render_text`."""
    start, has_locals = STARTS[frame.kind], frame.kind in ("call", "line")
    if has_locals == (frame.value is not None) or (frame.locals and not has_locals):
        raise FormatError(
            f"a frame of the kind {frame.kind!r} has {'no value' if has_locals else 'a value, no locals'}"
        )
    if has_locals:
        return f"{start}{_json(dict(frame.locals))}{ACTION}{_source(frame.action)}{FRAME_END}"
    return f"{start}{ACTION}{_source(frame.action)}{ARGUMENT}{_json(frame.value)}{FRAME_END}"


def parse_text(text: str) -> CwmTrace:
    """The trace in a text. Raises FormatError, with the place, if `render_text` makes it of no trace."""
    return _Reader(text).trace()


class _Reader:
    """Reads a text from its start to its end."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def trace(self) -> CwmTrace:
        self._expect(CONTEXT)
        context = self._up_to(FRAME_END)
        return CwmTrace(context, *self.frames())

    def frames(self) -> tuple[tuple[Frame, ...], bool]:
        frames: list[Frame] = []
        while self._at < len(self._text):
            if self._text.startswith(END, self._at):
                self._expect(END)
                if self._at < len(self._text):
                    raise self._error("nothing follows the end")
                return tuple(frames), True
            frames.append(self._frame())
        return tuple(frames), False

    def _frame(self) -> Frame:
        start = next((start for start in KINDS if self._text.startswith(start, self._at)), None)
        if start is None:
            raise self._error("a frame begins with one of its tokens")
        self._at += len(start)
        if start in (STARTS["call"], STARTS["line"]):
            shown = self._locals(self._up_to(ACTION))
            return Frame(KINDS[start], self._up_to(FRAME_END), shown)
        self._expect(ACTION)
        action = self._up_to(ARGUMENT)
        value = self._value(self._up_to(FRAME_END))
        return Frame(KINDS[start], action, value=value)

    def _locals(self, text: str) -> dict[str, str]:
        value = self._json(text)
        if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
            raise self._error("locals are a JSON object of strings")
        return value

    def _value(self, text: str) -> str:
        value = self._json(text)
        if not isinstance(value, str):
            raise self._error("a value is a JSON string")
        return value

    def _json(self, text: str) -> object:
        try:
            value: object = json.loads(text)
        except (ValueError, RecursionError):
            raise self._error("this is no JSON") from None
        if _json(value) != text:
            raise self._error("this is not written as json.dumps does")
        return value

    def _up_to(self, token: str) -> str:
        """The text before `token`, which is the next token of the format."""
        found = TOKEN.search(self._text, self._at)
        if found is None or found[0] != token:
            raise self._error(f"{token} is expected next")
        text = self._text[self._at : found.start()]
        self._at = found.end()
        return text

    def _expect(self, token: str) -> None:
        if not self._text.startswith(token, self._at):
            raise self._error(f"{token} is expected")
        self._at += len(token)

    def _error(self, reason: str) -> FormatError:
        return FormatError(f"no trace in the format of the Code World Model: at character {self._at}, {reason}")


def _source(text: str) -> str:
    if found := TOKEN.search(text):
        raise FormatError(f"the source contains {found[0]}, a token of the format")
    return text


def _json(value: object) -> str:
    """The text of json.dumps, but for a `<|` in it, which would be read as a token."""
    return json.dumps(value).replace("<|", "\\u003c|")

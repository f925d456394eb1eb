"""Reading a predicted trace: whatever a model has written, as frames, in time linear in the text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agnostics.traces.cwm_format import ACTION, ARGUMENT, END, FRAME_END, KINDS, STARTS, TOKEN, Frame
from agnostics.traces.events import Kind

_FENCE = re.compile(r"\A```[^\n]*\n(.*?)(?:\n?```)?\Z", re.DOTALL)
_Part = tuple[str, str]
"""A token and the text up to the next one."""


@dataclass(frozen=True, slots=True)
class PredictedFrame:
    """One predicted step, with the texts of its parts as they are written; None for a part that is not there.

    A call or a line has a state, a return or an exception a value. `is_whole` says that the tokens of its kind are all
    there, in order.
    """

    kind: Kind
    state: str | None
    action: str | None
    value: str | None
    is_whole: bool


@dataclass(frozen=True, slots=True)
class Prediction:
    """The predicted frames, and whether the text is these frames, all of them whole, and nothing else."""

    frames: tuple[PredictedFrame, ...]
    is_valid: bool

    @property
    def output(self) -> str | None:
        """The value of the last frame if it is a return: what the program returns; None without one."""
        last = self.frames[-1] if self.frames else None
        return value_in(last.value) if last and last.kind == "return" and last.value is not None else None

    def after(self, given: Sequence[Frame]) -> Prediction:
        """This prediction without the frames of the prompt that it begins with, if it repeats them."""
        shown = zip(self.frames, given, strict=False)
        repeated = len(self.frames) >= len(given) and all(is_same_frame(frame, other) for frame, other in shown)
        return Prediction(self.frames[len(given) :], self.is_valid) if repeated else self


def read_prediction(text: str, start: Kind = "line") -> Prediction:
    """The frames in a completion: of text around them and of incomplete ones, what can be read of them.

    A frame begins with its token and ends before the next one; nothing is read after the token of the end. A code block
    around all of them is taken off. If the first frame lacks its token, it is of the kind `start`, as one that goes on
    where the prompt ends.
    """
    text = unfenced(text.strip())
    first = TOKEN.search(text)
    if first and first[0] == ACTION:
        text = STARTS[start] + text
    reader = _Reader()
    before = text[: first.start()] if first and first[0] != ACTION else "" if first else text
    reader.stray(before)
    for token, following in _parts(text):
        if reader.take(token, following):
            break
    return reader.prediction()


def locals_in(text: str) -> dict[str, str] | None:
    """The locals that a text has as a JSON object of strings; None if it is anything else."""
    value = _json(text)
    is_locals = isinstance(value, dict) and all(isinstance(item, str) for item in value.values())
    return value if is_locals and isinstance(value, dict) else None


def value_in(text: str) -> str:
    """The value of a return as a JSON string has it, or the text itself where it is none."""
    value = _json(text)
    return value if isinstance(value, str) else text


def is_same_frame(predicted: PredictedFrame, true: Frame) -> bool:
    """Whether the kind, the observation and the action are the true ones."""
    return has_observation(predicted, true) and predicted.action == true.action


def has_observation(predicted: PredictedFrame, true: Frame) -> bool:
    """Whether the kind is the true one, and the locals, or the value of a return or an exception."""
    if predicted.kind != true.kind:
        return False
    if true.value is None:
        return predicted.state is not None and locals_in(predicted.state) == true.locals
    return predicted.value is not None and value_in(predicted.value) == true.value


def _json(text: str) -> object:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


def unfenced(text: str) -> str:
    """A text without the code block around all of it, if there is one."""
    return found[1] if text.startswith("```") and (found := _FENCE.match(text)) else text


def _parts(text: str) -> Iterator[_Part]:
    """Each token with the text up to the next one."""
    mark = TOKEN.search(text)
    while mark:
        following = TOKEN.search(text, mark.end())
        yield mark[0], text[mark.end() : following.start() if following else len(text)]
        mark = following


class _Reader:
    """Takes the tokens of a text, in order."""

    def __init__(self) -> None:
        self._frames: list[PredictedFrame] = []
        self._open: list[_Part] = []
        self._is_valid = True

    def take(self, token: str, following: str) -> bool:
        """Take a token with the text after it; whether it is the end."""
        if token in KINDS:
            self._close()
            self._open = [(token, following)]
        elif self._open and token in (ACTION, ARGUMENT):
            self._open.append((token, following))
        elif self._open and token == FRAME_END:
            self._open.append((token, ""))
            self._close()
            self.stray(following)
        else:
            self._close()
            self._is_valid &= token == END
            self.stray(following)
        return token == END

    def stray(self, text: str) -> None:
        """Take a text that is in no frame."""
        self._is_valid &= not text

    def prediction(self) -> Prediction:
        """What was read."""
        self._close()
        return Prediction(tuple(self._frames), self._is_valid and bool(self._frames))

    def _close(self) -> None:
        if self._open:
            self._frames.append(_frame(self._open))
            self._is_valid &= self._frames[-1].is_whole
            self._open = []


def _frame(parts: Sequence[_Part]) -> PredictedFrame:
    (start, state), texts = parts[0], dict(reversed(parts))
    has_state = KINDS[start] in ("call", "line")
    tokens = [ACTION, FRAME_END] if has_state else [ACTION, ARGUMENT, FRAME_END]
    return PredictedFrame(
        KINDS[start],
        state if has_state else None,
        texts.get(ACTION),
        None if has_state else texts.get(ARGUMENT),
        [token for token, _ in parts[1:]] == tokens and (has_state or not state),
    )

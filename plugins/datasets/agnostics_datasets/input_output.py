"""What APPS and TACO share: a problem in Python or for any language, with its tests as JSON in `input_output`."""

from __future__ import annotations

import json
from typing import Any

from agnostics import Comparison, Test

from agnostics_datasets.judging import judged_by
from agnostics_datasets.records import Fields


class Asked(Fields):
    """The fields that decide whether a problem is used."""

    question: str
    input_output: str | None = None
    starter_code: str | None = None

    def judged(self) -> tuple[tuple[Test, ...], Comparison] | None:
        """The tests, and how outputs are compared; None where the problem cannot be used.

        That is one without tests, one whose tests call a function or that begins with code (both are Python), and one
        that `judged_by` finds to have several right outputs. Raises ValueError where the tests are malformed.
        """
        compare = judged_by(self.question)
        if self.starter_code or compare is None or not (tests := tests_of(self.input_output)):
            return None
        return tests, compare


def tests_of(text: str | None) -> tuple[Test, ...]:
    """The tests in a field `input_output`; none where it is empty, or calls a function by name.

    An input or output is a text, or a list of its lines. Numbers stay as they are written: some have too many digits
    for Python to read. Raises ValueError where it is malformed.
    """
    if not text or not text.strip():
        return ()
    found = json.loads(text, parse_int=str, parse_float=str)
    if not isinstance(found, dict) or found.get("fn_name"):
        return ()
    inputs, outputs = found.get("inputs"), found.get("outputs")
    if not isinstance(inputs, list) or not isinstance(outputs, list) or len(inputs) != len(outputs):
        raise ValueError("input_output: expected lists 'inputs' and 'outputs' of one length")
    return tuple(Test(input=_text(i), output=_text(o)) for i, o in zip(inputs, outputs, strict=True))


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "".join(f"{_text(line)}\n" for line in value)
    if not isinstance(value, str):
        raise ValueError(f"input_output: expected a text or a list of lines, got {value!r:.40}")
    return value

"""The format of APPS and TACO: problems for Python or any language, with their tests as JSON in `input_output`."""

from __future__ import annotations

import json
from typing import Any

from agnostics import Comparison, Test

from agnostics_datasets.records import Fields
from agnostics_datasets.statement_rules import comparison_of


class InputOutputProblem(Fields):
    """The fields that determine whether a problem is usable."""

    question: str
    input_output: str | None = None
    starter_code: str | None = None

    def tests_and_comparison(self) -> tuple[tuple[Test, ...], Comparison] | None:
        """The tests and the comparison of outputs; None if the problem is not usable.

        That is a problem without tests, with tests that call a function, with starter code (both are Python), or with
        several correct outputs according to `comparison_of`. Raises ValueError if the tests are malformed.
        """
        compare = comparison_of(self.question)
        if self.starter_code or compare is None or not (tests := tests_of(self.input_output)):
            return None
        return tests, compare


def tests_of(text: str | None) -> tuple[Test, ...]:
    """The tests in a field `input_output`; none if it is empty, or calls a function by name.

    An input or output is a text, or a list of its lines. Numbers are kept as text: some have too many digits for
    Python to parse. Raises ValueError if the field is malformed.
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

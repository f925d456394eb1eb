"""Exercism's canonical cases: named inputs with expected results, no solution, and hardly a statement."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel, Field

from agnostics.task_prep.problem import FunctionProblem

KEYS = frozenset({"exercise", "property", "input", "expected"})
FILE_KEYS = frozenset({"exercise", "cases"})
"""The keys of a `canonical-data.json`."""


class _Case(BaseModel):
    """A case; `expected` is an object with `error` if the input is invalid."""

    exercise: str
    name: str = Field(alias="property")
    description: str = ""
    input: dict[str, Any]
    expected: Any

    @property
    def expects_error(self) -> bool:
        return isinstance(self.expected, dict) and "error" in self.expected

    @property
    def as_assert(self) -> str:
        """The case as a Python assert."""
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.input.items())
        remark = " ".join(self.description.split())
        return f"assert {self.name}({arguments}) == {self.expected!r}{f'  # {remark}' if remark else ''}"


def cases_in(data: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The cases of a `canonical-data.json` without their groups, each with the name of the exercise."""
    for case in data["cases"]:
        if "cases" in case:
            yield from cases_in({**case, "exercise": data["exercise"]})
        else:
            yield {"exercise": data["exercise"], **case}


def problems(records: Iterable[Mapping[str, Any]]) -> Iterator[FunctionProblem]:
    """A problem for each property of each exercise, except those with error cases only.

    Raises pydantic's ValidationError.
    """
    groups = defaultdict[tuple[str, str], list[tuple[_Case, Mapping[str, Any]]]](list)
    for record in records:
        case = _Case.model_validate(record)
        groups[case.exercise, case.name].append((case, record))
    for group in groups.values():
        if valid := [case for case, _ in group if not case.expects_error]:
            yield _problem(valid, tuple(record for _, record in group))


def _problem(cases: list[_Case], records: tuple[Mapping[str, Any], ...]) -> FunctionProblem:
    exercise, name = cases[0].exercise, cases[0].name
    table = [(tuple(case.input.values()), case.expected) for case in cases]
    return FunctionProblem(
        id=f"exercism/{exercise}/{name}",
        description=f"The exercise {exercise!r} of Exercism: implement the function {name!r}.",
        cases="\n".join(case.as_assert for case in cases),
        code=f"def table(*given):\n    return next(e for a, e in {table!r} if a == given)\n",
        entry="table",
        tests=f"for given, expected in {table!r}:\n    assert table(*given) == expected\n",
        records=records,
    )

"""The program that solves a reformulated task in Python: it reads the input as arguments and calls the reference.

It runs in the sandbox, as the text of this file with one call after it. So it imports nothing of ours, and little else:
it starts once for each test. What is read are the arguments of the problem's own test cases: an input states a case if
it holds the words of its arguments, in one order for all inputs, with nothing between them but sizes.
"""

from __future__ import annotations

import copy
import itertools
import sys

TYPE_CHECKING = False  # that of `typing`, whose import takes as long as all the rest
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, TypeAlias

    Case: TypeAlias = tuple[tuple[Any, ...], Any]  # the arguments of a call of the reference, and what it returned
    Word: TypeAlias = tuple[Any, bool]  # a value that stands in an input as one word, and whether it is a mere size
    Spelling: TypeAlias = tuple[str, str, bool]  # of true, of false, and whether whole floats are written as integers

MOST_ORDERED = 5
"""Arguments that may stand in another order than the function has them, at most."""


def solve(code: str, entry: str, tests: str, inputs: Sequence[str], spelling: Spelling) -> None:
    """Print what the reference returns for the arguments on standard input. Exits with a reason where it cannot."""
    output, sys.stdout = sys.stdout, sys.stderr  # what the reference itself prints is no answer
    cases = called(code, entry, tests)
    _, result = stated(sys.stdin.read(), cases, order_of(cases, inputs))
    print(written(result, spelling), file=output)


def called(code: str, entry: str, tests: str) -> list[Case]:
    """The calls of `entry` by the tests, each once, without those that it makes itself."""
    space: dict[str, Any] = {"__name__": "reference"}
    cases: dict[str, Case] = {}
    exec(code, space)
    if not callable(function := space.get(entry)):
        sys.exit(f"the reference solution defines no function {entry!r}")
    space[entry] = _recorded(function, cases)
    try:
        exec(tests, space)
    except AssertionError:
        sys.exit("the reference solution fails its own test cases")
    return list(cases.values()) or sys.exit(f"the test cases do not call {entry!r}")


def _recorded(function: Callable[..., Any], cases: dict[str, Case]) -> Callable[..., Any]:
    inside = False

    def record(*arguments: Any, **named: Any) -> Any:
        nonlocal inside
        if inside:
            return function(*arguments, **named)
        inside, given = True, copy.deepcopy((*arguments, *named.values()))
        try:
            result = function(*arguments, **named)
        finally:
            inside = False
        cases.setdefault(repr(given), (given, copy.deepcopy(result)))
        return result

    return record


def order_of(cases: Sequence[Case], inputs: Sequence[str]) -> tuple[int, ...]:
    """The order of arguments in which every input states a case and every case is stated."""
    count = len(cases[0][0])
    orders = list(itertools.permutations(range(count)) if count <= MOST_ORDERED else [tuple(range(count))])
    for order in orders:
        if all(_readings(text, cases, order) for text in inputs) and _all_stated(cases, inputs, order):
            return order
    for number, text in enumerate(inputs, 1):
        if not any(_readings(text, cases, order) for order in orders):
            sys.exit(f"the input of test {number} states the arguments of no test case")
    sys.exit("the inputs leave out a test case, or have the arguments in different orders")


def _all_stated(cases: Sequence[Case], inputs: Sequence[str], order: Sequence[int]) -> bool:
    return all(any(states(text, arguments, order) for text in inputs) for arguments, _ in cases)


def stated(text: str, cases: Sequence[Case], order: Sequence[int]) -> Case:
    """The one case that an input states; an input that can be read in two ways is none.

    Where only white space tells cases apart, the one whose texts are lines of the input.
    """
    readings = _readings(text, cases, order)
    if len(readings) > 1:
        lines = text.split("\n")
        exact = [case for case in readings if all(one in lines for one in case[0] if isinstance(one, str))]
        readings = exact or readings
    if len({repr(result) for _, result in readings}) != 1:
        sys.exit(f"an input states {len(readings)} test cases, where it should state one")
    return readings[0]


def _readings(text: str, cases: Sequence[Case], order: Sequence[int]) -> list[Case]:
    return [case for case in cases if states(text, case[0], order)]


def states(text: str, arguments: Sequence[Any], order: Sequence[int]) -> bool:
    """Whether `text` holds the words of `arguments` in `order`, and beside them sizes only, before what they count."""
    if len(order) != len(arguments):
        order = range(len(arguments))
    ordered = [arguments[place] for place in order]
    words = [size for one in ordered for size in sizes(one)]
    words += [word for one in ordered for word in (*sizes(one), *words_of(one))]
    spaced = (value for value, _ in words if isinstance(value, str) and not value.isalnum())
    return _spells(words, text.split()) and all(value in text for value in spaced)


def _spells(words: Iterable[Word], tokens: Sequence[str]) -> bool:
    """Whether `tokens` are `words`, one after another: `places` are all those that may come next."""
    places = {0}
    for value, is_size in words:
        after = {end for place in places if (end := _end(value, tokens, place)) is not None}
        places = after | places if is_size else after
    return len(tokens) in places


def _end(value: Any, tokens: Sequence[str], place: int) -> int | None:
    """Where `value` ends if it begins at `place`: a text may be of several words, or of none."""
    if isinstance(value, str):
        parts = value.split()
        return place + len(parts) if list(tokens[place : place + len(parts)]) == parts else None
    return place + 1 if place < len(tokens) and is_word(value, tokens[place]) else None


def is_word(value: Any, token: str) -> bool:
    """Whether `token` spells `value`, which is no text."""
    if isinstance(value, bool):
        return token.lower() in (("true", "yes", "1") if value else ("false", "no", "0"))
    if value is None:
        return token.lower() in ("none", "null")
    if isinstance(value, (int, float)):
        try:
            return (int(token) if isinstance(value, int) else float(token)) == value
        except ValueError:
            return False
    return token == str(value)


def words_of(value: Any) -> Iterator[Word]:
    """The words of a value: lists, tuples, sets and mappings word by word, each after its size or not."""
    elements = elements_of(value)
    if elements is None:
        yield value, False
        return
    yield len(value), True
    for element in elements:
        yield from words_of(element)


def sizes(value: Any) -> list[Word]:
    """What may be told of the size of an argument: of a text or list its length, of a matrix rows and columns."""
    if not isinstance(value, str) and elements_of(value) is None:
        return []
    first = elements_of(next(iter(elements_of(value) or ()), None))
    columns = [] if first is None else [(len(first), True)]
    return [(len(value), True), *columns]


def elements_of(value: Any) -> list[Any] | None:
    """What a container holds, keys and values in turn of a mapping, sets in order; None of what is none."""
    if isinstance(value, dict):
        return [part for pair in value.items() for part in pair]
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=lambda element: (str(type(element)), element))
    return list(value) if isinstance(value, (list, tuple)) else None


def written(value: Any, spelling: Spelling) -> str:
    """A value as the paper's prompt has it printed: inner lists on lines of their own, four places after the point."""
    true, false, whole = spelling
    if isinstance(value, dict):
        return "\n".join(f"{written(key, spelling)} {written(held, spelling)}" for key, held in value.items())
    elements = elements_of(value)
    if elements is not None:
        nested = any(elements_of(element) is not None for element in elements)
        return ("\n" if nested else " ").join(written(element, spelling) for element in elements)
    if isinstance(value, bool):
        return true if value else false
    if isinstance(value, float):
        return str(int(value)) if whole and value.is_integer() else f"{value:.4f}"
    return str(value)

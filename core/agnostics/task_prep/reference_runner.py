"""The program that solves a reformulated task in Python: it parses the input as arguments and calls the reference.

It runs in the sandbox as the text of this file followed by one call. It imports hardly anything, because it starts once
per test. Only the arguments of the problem's own test cases are recognized: an input matches a case if it holds the
words of its arguments, in one order for all inputs, with nothing between them except sizes.
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
    Word: TypeAlias = tuple[Any, bool]  # a value that is one word of an input, and whether it is only a size
    OutputFormat: TypeAlias = tuple[str, str, bool]  # true, false, and whether whole floats are printed as integers

MAX_PERMUTED = 5
"""The number of arguments up to which an input may have them in another order than the function."""


def solve(code: str, entry: str, tests: str, inputs: Sequence[str], output_format: OutputFormat) -> None:
    """Print the result of the reference for the arguments on standard input. Exits with a reason if it cannot."""
    output, sys.stdout = sys.stdout, sys.stderr  # output of the reference itself does not count
    cases = recorded_cases(code, entry, tests)
    _, result = matching_case(sys.stdin.read(), cases, argument_order(cases, inputs))
    print(formatted(result, output_format), file=output)


def recorded_cases(code: str, entry: str, tests: str) -> list[Case]:
    """The distinct calls of `entry` by the tests, without recursive calls."""
    space: dict[str, Any] = {"__name__": "reference"}
    cases: dict[str, Case] = {}
    exec(code, space)
    if not callable(function := space.get(entry)):
        sys.exit(f"the reference solution defines no function {entry!r}")
    space[entry] = _recording(function, cases)
    try:
        exec(tests, space)
    except AssertionError:
        sys.exit("the reference solution fails its own test cases")
    return list(cases.values()) or sys.exit(f"the test cases do not call {entry!r}")


def _recording(function: Callable[..., Any], cases: dict[str, Case]) -> Callable[..., Any]:
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


def argument_order(cases: Sequence[Case], inputs: Sequence[str]) -> tuple[int, ...]:
    """The order of arguments in which every input matches a case and every case is matched."""
    count = len(cases[0][0])
    orders = list(itertools.permutations(range(count)) if count <= MAX_PERMUTED else [tuple(range(count))])
    for order in orders:
        if all(_matching_cases(text, cases, order) for text in inputs) and _all_matched(cases, inputs, order):
            return order
    for number, text in enumerate(inputs, 1):
        if not any(_matching_cases(text, cases, order) for order in orders):
            sys.exit(f"the input of test {number} matches the arguments of no test case")
    sys.exit("the inputs leave out a test case, or have the arguments in different orders")


def _all_matched(cases: Sequence[Case], inputs: Sequence[str], order: Sequence[int]) -> bool:
    return all(any(input_matches(text, arguments, order) for text in inputs) for arguments, _ in cases)


def matching_case(text: str, cases: Sequence[Case], order: Sequence[int]) -> Case:
    """The one case that an input matches. Exits with a reason if it matches several with different results.

    Of cases that differ only in white space, the one whose texts are lines of the input.
    """
    matches = _matching_cases(text, cases, order)
    if len(matches) > 1:
        lines = text.split("\n")
        exact = [case for case in matches if all(one in lines for one in case[0] if isinstance(one, str))]
        matches = exact or matches
    if len({repr(result) for _, result in matches}) != 1:
        sys.exit(f"an input matches {len(matches)} test cases, not one")
    return matches[0]


def _matching_cases(text: str, cases: Sequence[Case], order: Sequence[int]) -> list[Case]:
    return [case for case in cases if input_matches(text, case[0], order)]


def input_matches(text: str, arguments: Sequence[Any], order: Sequence[int]) -> bool:
    """True if `text` holds the words of `arguments` in `order`, and otherwise only sizes, each before its container."""
    if len(order) != len(arguments):
        order = range(len(arguments))
    ordered = [arguments[place] for place in order]
    words = [size for one in ordered for size in sizes(one)]
    words += [word for one in ordered for word in (*sizes(one), *value_words(one))]
    spaced = (value for value, _ in words if isinstance(value, str) and not value.isalnum())
    return _tokens_match(words, text.split()) and all(value in text for value in spaced)


def _tokens_match(words: Iterable[Word], tokens: Sequence[str]) -> bool:
    """True if `tokens` are `words` in order; `places` holds all positions at which the next word may start."""
    places = {0}
    for value, is_size in words:
        after = {end for place in places if (end := _end(value, tokens, place)) is not None}
        places = after | places if is_size else after
    return len(tokens) in places


def _end(value: Any, tokens: Sequence[str], place: int) -> int | None:
    """The position after `value` if it starts at `place`, else None; a text may have several words, or none."""
    if isinstance(value, str):
        parts = value.split()
        return place + len(parts) if list(tokens[place : place + len(parts)]) == parts else None
    return place + 1 if place < len(tokens) and word_matches(value, tokens[place]) else None


def word_matches(value: Any, token: str) -> bool:
    """True if `token` is a spelling of `value`, which is no text."""
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


def value_words(value: Any) -> Iterator[Word]:
    """The words of a value; those of lists, tuples, sets and mappings follow an optional size."""
    elements = container_elements(value)
    if elements is None:
        yield value, False
        return
    yield len(value), True
    for element in elements:
        yield from value_words(element)


def sizes(value: Any) -> list[Word]:
    """The optional sizes of an argument: the length of a text or list, the rows and columns of a matrix."""
    if not isinstance(value, str) and container_elements(value) is None:
        return []
    first = container_elements(next(iter(container_elements(value) or ()), None))
    columns = [] if first is None else [(len(first), True)]
    return [(len(value), True), *columns]


def container_elements(value: Any) -> list[Any] | None:
    """The elements of a container, keys and values alternating for a mapping, sets sorted; None for other values."""
    if isinstance(value, dict):
        return [part for pair in value.items() for part in pair]
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=lambda element: (str(type(element)), element))
    return list(value) if isinstance(value, (list, tuple)) else None


def formatted(value: Any, output_format: OutputFormat) -> str:
    """A value in the format of the paper's prompt: inner lists on lines of their own, four decimal places."""
    true, false, floats_as_integers = output_format
    if isinstance(value, dict):
        return "\n".join(
            f"{formatted(key, output_format)} {formatted(element, output_format)}" for key, element in value.items()
        )
    elements = container_elements(value)
    if elements is not None:
        nested = any(container_elements(element) is not None for element in elements)
        return ("\n" if nested else " ").join(formatted(element, output_format) for element in elements)
    if isinstance(value, bool):
        return true if value else false
    if isinstance(value, float):
        return str(int(value)) if floats_as_integers and value.is_integer() else f"{value:.4f}"
    return str(value)

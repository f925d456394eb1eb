"""Answers are compared in real slots: gold answers, changed ones, and hostile ones that stall nobody."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from agnostics.math import Equality, MathChecker
from agnostics.math.checker import MAX_CHARACTERS
from agnostics.math.normaliser import normalise
from agnostics.math.structure import structure_of
from agnostics.plugins.manager import load_plugins
from agnostics.types.errors import AgnosticsError

DATA = Path(__file__).parents[3] / "shared" / "data" / "math"
FILES = ("gsm8k_test.jsonl", "math500.jsonl", "aime24.jsonl")
TIMEOUT_S = 300
Pair = tuple[str, str]

pytestmark = pytest.mark.slow
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the gold answers are not beside this checkout")


@pytest.fixture(scope="module", params=["docker", "bubblewrap"])
def checker(request: pytest.FixtureRequest) -> Iterator[MathChecker]:
    with MathChecker(request.param, 2) as made:
        yield made


def golds() -> list[str]:
    """The gold answers of the three files."""
    math, _ = load_plugins().dataset("math")
    return [task.tests[0].output for name in FILES for task in math.tasks("test", source=str(DATA / name))]


def in_slots(checker: MathChecker, pairs: list[Pair]) -> list[Equality]:
    """The equality of each pair, as the slots find it, without the look at the texts before."""
    futures = [checker._submit_to_slot(*pair) for pair in pairs]
    return [future.result(timeout=TIMEOUT_S) for future in futures]


def changed(gold: str) -> Iterator[str]:
    """The answer with a digit or a sign changed, a letter exchanged, its parts in another order, or one part less."""
    for digit in re.finditer(r"\d", gold):
        yield gold[: digit.start()] + str((int(digit[0]) + 1) % 10) + gold[digit.end() :]
    for sign in re.finditer("[+-]", gold):
        yield gold[: sign.start()] + ("+" if sign[0] == "-" else "-") + gold[sign.end() :]
    for letter in re.finditer(r"(?<![A-Za-z\\])[a-y](?![A-Za-z])", gold):
        yield gold[: letter.start()] + chr(ord(letter[0]) + 1) + gold[letter.end() :]
    if gold != "0" and "text" not in gold:
        yield f"-({gold})"
    structure = structure_of(normalise(gold))
    if structure and len(set(structure.parts)) > 1 and not structure.kind.startswith(("matrix", "base")):
        brackets = structure.kind if structure.is_ordered else "  "
        yield brackets[0] + ",".join(structure.parts[:-1]) + brackets[1]
        if structure.is_ordered:
            yield brackets[0] + ",".join(reversed(structure.parts)) + brackets[1]


@needs_data
def test_every_gold_answer_equals_itself_and_so_do_their_texts(checker: MathChecker) -> None:
    known = golds()
    assert len(known) == 1849
    distinct = list(dict.fromkeys(known))
    assert in_slots(checker, [(gold, gold) for gold in distinct]) == [Equality.EQUAL] * len(distinct)
    assert {checker.submit(gold, gold).result(timeout=1) for gold in known} == {Equality.EQUAL}


@needs_data
def test_no_changed_gold_answer_equals_it(checker: MathChecker) -> None:
    distinct = dict.fromkeys(golds())
    pairs = [(other, gold) for gold in distinct for other in changed(gold) if other != gold]
    assert len(pairs) > 2000
    futures = [checker.submit(*pair) for pair in pairs]
    found = [future.result(timeout=TIMEOUT_S) for future in futures]
    assert [pair for pair, equality in zip(pairs, found, strict=True) if equality is not Equality.DIFFERENT] == []


def test_what_only_symbolic_work_makes_equal_is_equal(checker: MathChecker) -> None:
    pairs = [
        ("x+1", "1+x"),
        ("(x-2)(x+2)", "x^2-4"),
        (r"\frac{1}{\sqrt2}", r"\frac{\sqrt2}{2}"),
        ("[-2,7]", r"x \in [-2,7]"),
        (r"\begin{bmatrix} 1/2 \\ 2x \end{bmatrix}", r"\begin{pmatrix} 0.5 \\ x+x \end{pmatrix}"),
    ]
    assert in_slots(checker, pairs) == [Equality.EQUAL] * len(pairs)


STALLING = [r"10^{10^{10}}", "9^{9^{9^{9}}}", "999999999!", r"((9!)!)!", r"(x+1)^{5000}(y+2)^{5000}"]
HOSTILE = [
    *("(" * 4000 + "x" + ")" * 4000, "{" * 4000, r"\frac{1}{" * 400 + "2" + "}" * 400, r"\text{" * 1500, "-" * 5000),
    *("10^10^10", "9**9**9**9", "$" * 9000, " and " * 1500, "1" + ",111" * 2400, "\0", "\ud800", '"]\n["5+x","5+x"]\n'),
    *("equal", "equal\n", "x\nequal\n", r"7 final answer is \(5+x\). I hope", r"\emptyset", "nan"),
]


@pytest.mark.parametrize("checker", ["bubblewrap"], indirect=True)
def test_what_never_ends_is_unknown(checker: MathChecker) -> None:
    """In the other mode one of them does, beside others, below; each takes two seconds of processor time."""
    assert in_slots(checker, [(text, "5+x") for text in STALLING]) == [Equality.UNKNOWN] * len(STALLING)


def test_what_is_no_answer_is_never_equal(checker: MathChecker) -> None:
    assert Equality.EQUAL not in in_slots(checker, [(text, "5+x") for text in HOSTILE])


EVIL = [
    "__import__('os').write(1, b'equal\\n')",
    r"\text{__import__('os')._exit(0)}",
    r"\operatorname{exec}(1)",
    r"x_{__import__('os').system('echo equal')}",
]


def test_what_is_hard_by_its_text_is_different_at_once(checker: MathChecker) -> None:
    begun = time.monotonic()
    assert {checker.submit(text, "5+x").result(timeout=1) for text in STALLING} == {Equality.DIFFERENT}
    assert time.monotonic() - begun < 1


def test_an_answer_is_not_run(checker: MathChecker) -> None:
    assert in_slots(checker, [(text, "5+x") for text in EVIL]) == [Equality.DIFFERENT] * len(EVIL)


def test_a_text_of_megabytes_is_different_at_once(checker: MathChecker) -> None:
    begun = time.monotonic()
    assert checker.submit("{" * 3_000_000, "5").result(timeout=1) is Equality.DIFFERENT
    assert checker.submit("x" * (MAX_CHARACTERS + 1), "x" * (MAX_CHARACTERS + 1)).result(timeout=1) is Equality.EQUAL
    assert time.monotonic() - begun < 2


def test_a_stalled_comparison_changes_no_other_and_holds_up_few(checker: MathChecker) -> None:
    ordinary = [(f"{number}+x", f"x+{number}") for number in range(100)]
    in_slots(checker, ordinary[:1])
    begun = time.monotonic()
    undisturbed = in_slots(checker, ordinary)
    quick = time.monotonic() - begun
    mixed = [*ordinary[:50], ("999999999!", "5"), *ordinary[50:]]
    begun = time.monotonic()
    results = in_slots(checker, mixed)
    assert undisturbed == [Equality.EQUAL] * 100
    assert results == [Equality.EQUAL] * 50 + [Equality.UNKNOWN] + [Equality.EQUAL] * 50
    assert time.monotonic() - begun < 3 * quick + 30


def test_what_a_closed_checker_has_not_compared_is_an_error() -> None:
    with MathChecker("bubblewrap", 1) as checker:
        futures = [checker._submit_to_slot("999999999!", "5") for _ in range(40)]
    for future in futures:
        assert isinstance(future.exception(timeout=TIMEOUT_S), AgnosticsError)
    assert isinstance(checker._submit_to_slot("x", "y").exception(timeout=1), AgnosticsError)
    assert checker.submit("5", "5").result(timeout=1) is Equality.EQUAL


def test_process_mode_compares_too() -> None:
    with MathChecker("process", 1) as checker:
        assert in_slots(checker, [("x+1", "1+x"), ("x+1", "x"), ("999999999!", "x")]) == [
            "equal",
            "different",
            "unknown",
        ]

"""Befunge-98 follows its specification in the behaviours of conformance programs that the dialect tests leave out.

The sections are those of the Funge-98 Final Specification (Chris Pressey, 1998). It does not say whether the operand of
`k` is met once more behind it: it is, as its author said later, and as the interpreters CCBI and cfunge do.
"""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from agnostics_lang_esolangs.interpreter import interpreter_path

Program = str | bytes

CLAIMS: dict[str, dict[str, tuple[Program, str]]] = {
    "Direction Changing": {
        "x flies to the southwest": (" 01-1x\n    1\n   .\n  @", "1 "),
        "] turns a flight right": ("02-#v2  x\n    >7.@\n      ]", "7 "),
        "[ turns a flight left": ("02-2  x\n\n    [\n\n      >8.@", "8 "),
        "r turns a flight back": ("1021x7.@\n      r", "7 "),
    },
    "Wrapping": {
        "a flight wraps to where its line enters": ("v >7.@\n\n>32  x\n\n         @", "7 "),
    },
    "Flow Control": {
        "# passes over a single space": ("# 1.@", "1 "),
        "j passes over a single space": ("1j v@\n   >7.@", "7 "),
        "k jumps from where it stands with an operand far off": ("4k #12345...@", "5 4 3 "),
        "k pops once more than it counts": ("1234562k$.@", "3 "),
        "0k passes over spaces and the instruction behind them": ("0k @1.@", "1 "),
    },
    "Decision Making": {
        "w turns left where the first is less": ("v  >7.@\n>12w@\n   @", "7 "),
        "| goes north on what is not 0": ("v >7.@\n>5|@\n  >8.@", "7 "),
        "| goes south on 0": ("v >7.@\n>0|@\n  >8.@", "8 "),
        "! is 1 for 0 alone": ("0!7!..@", "0 1 "),
        "` is 1 where the first is greater": ("01`10`00`...@", "0 1 0 "),
    },
    "Strings": {
        "a null byte in a string is 0": (b'"a\0b",.,@', "b0 a"),
        "' fetches a space": ("' .@", "32 "),
        "a run of spaces is one between characters": ('"a  b"$,,@', " a"),
    },
    "Stack Stack Manipulation": {
        "u by 0 does nothing": ("120{450u..0}..@", "5 4 2 1 "),
        "} by 0 brings no cell back": ("10{20}.@", "1 "),
    },
    "Funge-Space Storage": {
        "what p stores is run": ("'.60p7 @", "7 "),
        "p counts from the origin that { sets": ("0{ '700p0}20g,@", "7"),
    },
    "System Information Retrieval": {
        "y tells where it stands and where it goes": ("ay.by.cy.dy.@", "0 4 0 1 "),
        "y tells the delta of a flight": (
            "21x\n    c\n      y\n        .\n          d\n            y\n              .\n                @",
            "1 2 ",
        ),
        "y tells the origin that { sets": ("0{ey.fy.@", "0 2 "),
        "y tells the greatest point from the least": ("104-05-pf4+y.f3+y.@", "22 5 "),
        "y sees that the right edge was blanked": ("1y$' f1pf4+y.@\n               Z\nz", "13 "),
        "y sees that the bottom edge was blanked": ("1y$' 12pf3+y.@\n\n Z", "0 "),
        "y counts the stacks and the cells of each, the top first": ("120{345f7+y.f8+y.f9+y.@", "2 3 4 "),
        "y tells the name of the program": ("f9+y,fa+y,@", "pr"),
        "y tells everything at 0": ("0y..$$$$.@", "0 8 2 "),
        "y tells everything below 0": ("01-y..$$$$.@", "0 8 2 "),
        "y leaves the stack as it was below the cell it picks": ("0yf8+y00pn34500g2+y....@", "4 5 4 3 "),
    },
    "Fingerprints": {
        ") pops the whole fingerprint and reflects": ("91113#@ #.)", "9 "),
    },
}


def run(program: Program, folder: Path) -> subprocess.CompletedProcess[bytes]:
    """What a program does in the standard dialect; its file is called `program`."""
    file = folder / "program"
    file.write_bytes(program.encode() if isinstance(program, str) else program)
    words = [str(interpreter_path("befunge98")), "--dialect", "standard", "--steps", "10000", str(file)]
    return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("program", "output"),
    [
        pytest.param(*example, id=f"{section}: {claim}")
        for section, claims in CLAIMS.items()
        for claim, example in claims.items()
    ],
)
def test_claim_of_the_specification(program: Program, output: str, tmp_path: Path) -> None:
    answer = run(program, tmp_path)
    assert (answer.stdout, answer.returncode, answer.stderr) == (output.encode(), 0, b"")


@pytest.mark.parametrize(("program", "status"), [("f2+q", 17), ("q", 0), ("01-q", 255)])
def test_q_ends_with_the_least_byte_of_what_it_pops(program: str, status: int, tmp_path: Path) -> None:
    answer = run(program, tmp_path)
    assert (answer.stdout, answer.returncode, answer.stderr) == (b"", status, b"")


def test_y_tells_the_date_and_the_time(tmp_path: Path) -> None:
    before = _packed(datetime.now(UTC))
    date, time = (int(number) for number in run("f5+y.f6+y.@", tmp_path).stdout.split())
    assert before <= (date, time) <= _packed(datetime.now(UTC))


def _packed(moment: datetime) -> tuple[int, int]:
    """The two cells that `y` has for a moment."""
    date = (moment.year - 1900) * 65536 + moment.month * 256 + moment.day
    return date, moment.hour * 65536 + moment.minute * 256 + moment.second

"""The interpreters of the esoteric languages count their steps, and survive any program."""

from __future__ import annotations

import signal
import subprocess

import pytest
from agnostics_lang_esolangs.interpreter import INTERPRETERS, interpreter_path
from esolang import BOTH, OPEN, Program, contract, play, run, signs


@pytest.mark.parametrize(
    ("language", "program", "needed"),
    [
        ("brainfuck", "++[-]>.", 9),
        ("befunge98", "12+.@", 5),
        ("whitespace", signs("SSSTL TLST LLL"), 3),
        ("shakespeare", play(f"You are a cat. {OPEN}"), 7),
        ("unlambda", "`.ai", 7),
    ],
)
def test_the_step_limit_is_exact(language: str, program: str, needed: int) -> None:
    enough, short = run(language, program, steps=needed), run(language, program, steps=needed - 1)
    assert (enough.returncode, enough.stderr) == (0, b"")
    assert short.returncode == -signal.SIGXCPU
    assert short.stderr == f"step limit of {needed - 1} reached\n".encode()


@pytest.mark.parametrize("dialect", BOTH)
@pytest.mark.parametrize("language", INTERPRETERS)
def test_a_loop_ends_after_ten_million_steps(language: str, dialect: str) -> None:
    (suffix,) = (path.suffix for path in contract(language).glob("loop.*"))
    answer = run(language, (contract(language) / f"loop{suffix}").read_bytes(), dialect=dialect)
    assert (answer.returncode, answer.stderr) == (-signal.SIGXCPU, b"step limit of 10000000 reached\n")


def test_zero_steps_are_no_limit() -> None:
    """Three nested loops of 256 rounds each take more than ten million steps."""
    loops = "-[>-[>-[-]<-]<-]"
    assert run("brainfuck", loops).returncode == -signal.SIGXCPU
    assert run("brainfuck", loops, steps=0).returncode == 0


def test_output_before_the_last_step_is_kept() -> None:
    answer = run("brainfuck", "+[.]", steps=100_001)
    assert answer.stdout == b"\x01" * 50_000


DEEP = 1_000_000
HOSTILE: dict[str, tuple[str, Program]] = {
    "a million open loops": ("brainfuck", "+" + "[" * DEEP + "-" + "]" * DEEP),
    "a million unclosed loops": ("brainfuck", "[" * DEEP),
    "nothing but NUL": ("brainfuck", b"\0" * DEEP),
    "k a million times": ("befunge98", "1" * DEEP + "k" * 10 + "@"),
    "a count beyond all memory": ("befunge98", "f:*:*:*:*{@"),
    "the ends of space": ("befunge98", "f:*:*:*:*:1-:1-p0:1-:w1f:*:*:*:*x"),
    "the least number": ("befunge98", "1" + "88*8*8*8*8*8*8*8*8*8*8*8*8*8*8*8*8*8*8*8*" + "01-/01-%j@"),
    "the plane of a single cell": ("befunge98", "y"),
    "a blank plane": ("befunge98", " \n "),
    "a string without an end": ("befunge98", '"'),
    "a row a million wide": ("befunge98", " " * DEEP + "@"),
    "a literal of a million bits, squared": ("whitespace", signs("SSS" + "T" * DEEP + "L SLS TSSL TLST LLL")),
    "a label of a million signs": ("whitespace", signs("LSL" + "T" * DEEP + "L LSS" + "T" * DEEP + "L LLL")),
    "a million labels": ("whitespace", signs("LSS" + "L LSS".join(f"{i:020b}" for i in range(2)) + "L") * (DEEP // 50)),
    "squaring without end": ("whitespace", signs("SSSTTTTL LSSSL SLS TSSL LSLSL")),
    "calls without end": ("whitespace", signs("LSSSL LSTSL")),
    "a copy from beyond 64 bits": ("whitespace", signs("SSSTL STSST" + "S" * 100 + "L LLL")),
    "a slide beyond 64 bits": ("whitespace", signs("SSSTL STLST" + "S" * 100 + "L LLL")),
    "a million sums": ("shakespeare", play("You are " + "the sum of a cat and " * (DEEP // 10) + "a cat. " + OPEN)),
    "a million sums on the left": (
        "shakespeare",
        play("You are " + "the sum of " * (DEEP // 10) + "a cat" + " and a cat" * (DEEP // 10) + ". " + OPEN),
    ),
    "a thousand adjectives": ("shakespeare", play("You are a " + "big " * 1000 + "cat.")),
    "a name of a million letters": ("shakespeare", f"Title. {'a' * DEEP}, long. Act I: A. Scene I: B."),
    "a word of a million letters": ("shakespeare", play("You are a " + "b" * DEEP + ".")),
    "no words": ("shakespeare", b"\0\xff\xfe. \0"),
    "a play in binary": ("shakespeare", bytes(range(256)) * 100),
    "ten thousand characters": (
        "shakespeare",
        "T. "
        + "".join(f"P{i}, x. " for i in range(10_000))
        + "Act I: A. Scene I: B. [Enter P1 and P2] P1: Speak your mind.",
    ),
    "a million backquotes": ("unlambda", "`" * DEEP),
    "a million applications": ("unlambda", "`" * DEEP + "i" * (DEEP + 1)),
    "a million nested operands": ("unlambda", "`i" * DEEP + "i"),
    "continuations without end": ("unlambda", "```sii``s`kk``sii"),
    "a million delays": ("unlambda", "`d" * DEEP + "i"),
}


@pytest.mark.parametrize("dialect", BOTH)
@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_program_ends_with_a_result_an_error_or_the_step_limit(what: str, dialect: str) -> None:
    language, program = HOSTILE[what]
    answer = run(language, program, b"\0\xff\n99999999999999999999\n", dialect)
    assert answer.returncode in {0, 1, -signal.SIGXCPU}
    assert answer.returncode == 0 or answer.stderr.count(b"\n") == 1


@pytest.mark.parametrize("language", INTERPRETERS)
def test_exhausted_memory_is_an_error_in_one_line(language: str) -> None:
    """Each contract's `memory` under a limit of the address space, and without a limit of its steps."""
    (program,) = contract(language).glob("memory.*")
    command = f"ulimit -v 100000; exec '{interpreter_path(language)}' --steps 0 '{program}'"
    answer = subprocess.run(["sh", "-c", command], capture_output=True, timeout=60, check=False)
    assert (answer.returncode, answer.stderr) == (1, b"out of memory\n")

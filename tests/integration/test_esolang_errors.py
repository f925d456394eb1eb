"""The interpreters of the esoteric languages report the error of a program and its place in one line."""

from __future__ import annotations

import pytest
from esolang import BENCHMARK, BOTH, OPEN, STANDARD, Program, play, run, signs

INVALID: dict[str, tuple[str, tuple[str, ...], Program, str]] = {
    "an open bracket": ("brainfuck", BOTH, "+\n[[-]", "line 2, column 1: '[' without its partner"),
    "a closed bracket": ("brainfuck", BOTH, "+]", "line 1, column 2: ']' without its partner"),
    "a cell below the first": ("brainfuck", BOTH, "<", "the pointer moved below cell 0"),
    "an empty stack": ("befunge98", BENCHMARK, "1+@", "the stack is empty at (1, 0)"),
    "an instruction that is none": ("befunge98", BENCHMARK, "1k@", "unknown instruction 'k' at (1, 0)"),
    "an instruction beyond ASCII": ("befunge98", BENCHMARK, b"\xe9", "unknown instruction 233 at (0, 0)"),
    "a control character": ("befunge98", BENCHMARK, "@\n \x01", "line 2, column 2: control character 1"),
    "a quotient by 0": ("befunge98", BENCHMARK, "10/@", "division by zero at (2, 0)"),
    "a remainder by 0": ("befunge98", BENCHMARK, "10%@", "modulo by zero at (2, 0)"),
    "a product of more than 64 bits": (
        "befunge98",
        BENCHMARK,
        "f:*:*:*:*:*:*@",
        "number too large at (10, 0)",
    ),
    "no such sign": ("whitespace", BOTH, signs("SSSTL STT"), "line 2, column 1: no instruction begins like this"),
    "a literal without an end": (
        "whitespace",
        BOTH,
        signs("SSST"),
        "line 1, column 1: the program ends within this instruction",
    ),
    "a literal without a sign": ("whitespace", BOTH, signs("SSL"), "line 1, column 1: a number without a sign"),
    "a label that is missing": (
        "whitespace",
        BENCHMARK,
        signs("LSLSL"),
        "line 3, column 1: there is no label of this name",
    ),
    "a label given twice": (
        "whitespace",
        BENCHMARK,
        signs("LSSSL LSSSL"),
        "line 4, column 3: this label is not the first of its name",
    ),
    "a jump to nowhere": (
        "whitespace",
        STANDARD,
        signs("LSLSL"),
        "there is no label of the name that is jumped to",
    ),
    "an empty stack of Whitespace": ("whitespace", BOTH, signs("SSSTL TSSS LLL"), "the stack is empty"),
    "a division by 0": ("whitespace", BOTH, signs("SSSTL SSSL TSTS LLL"), "division by zero"),
    "a return without a call": ("whitespace", BOTH, signs("LTL"), "return without a call"),
    "an address of the heap that is not used": (
        "whitespace",
        BENCHMARK,
        signs("SSSTL TTT LLL"),
        "nothing was stored at this address of the heap",
    ),
    "an end that is missing": ("whitespace", STANDARD, signs("SSSTL"), "the program ran past its last instruction"),
    "a slide that is too long": (
        "whitespace",
        BENCHMARK,
        signs("SSSTL SSSTL STLSTSL LLL"),
        "slide reaches below the stack",
    ),
    "a copy from too far": ("whitespace", BOTH, signs("SSSTL STSSTL LLL"), "copy reaches below the stack"),
    "a line that is no number": (
        "whitespace",
        STANDARD,
        signs("SSSL TLTT LLL"),
        "this line of the input is no number",
    ),
    "a character above 255": (
        "whitespace",
        STANDARD,
        signs("SSSTSSSSSSSSL TLSS LLL"),
        "a character must be from 0 to 255",
    ),
    "digits": ("shakespeare", BOTH, play("You are 72."), "line 8, column 17: expected a noun or an adjective at '72'"),
    "an unknown noun": (
        "shakespeare",
        STANDARD,
        play("You are a big dog."),
        "line 8, column 23: expected a noun or an adjective at 'dog'",
    ),
    "an adjective that does not suit": (
        "shakespeare",
        STANDARD,
        play("You are a lovely pig."),
        "line 8, column 29: the adjectives do not suit the noun at '.'",
    ),
    "a character that Shakespeare has not": (
        "shakespeare",
        STANDARD,
        "A Play. Bob, a man. Act I: A. Scene I: B.",
        "line 1, column 9: no character of Shakespeare's at 'bob'",
    ),
    "a scene that is missing": (
        "shakespeare",
        BOTH,
        play("Let us proceed to scene IX."),
        "line 8, column 9: there is no such scene",
    ),
    "a scene in another act": (
        "shakespeare",
        STANDARD,
        play("Let us proceed to scene II.", more="Act II: A. Scene II: B."),
        "line 8, column 9: there is no such scene",
    ),
    "a scene number given twice": (
        "shakespeare",
        BENCHMARK,
        play(OPEN, more="Act II: A. Scene I: B."),
        "line 9, column 12: this number is given twice",
    ),
    "a play without an end": (
        "shakespeare",
        BOTH,
        "A Play. Romeo, a man. Act I: A. Scene I: B. [Enter",
        "expected a character of the play before the end of the play",
    ),
    "nothing to recall": ("shakespeare", BOTH, play("Recall!"), "line 8, column 9: nothing to recall"),
    "a quotient of Shakespeare's by 0": (
        "shakespeare",
        BOTH,
        play("You are the quotient between a cat and nothing."),
        "line 8, column 17: division by zero",
    ),
    "a number of more than 64 bits": (
        "shakespeare",
        BOTH,
        play("You are the square of the square of the square of the square of a big big big big cat."),
        "line 8, column 17: number too large",
    ),
    "three on stage": (
        "shakespeare",
        BOTH,
        play(OPEN, stage="[Enter Romeo, Juliet and The Ghost]"),
        "3 characters on stage, where one speaks to one other",
    ),
    "one who is not there": (
        "shakespeare",
        BOTH,
        play(OPEN, stage="[Enter Romeo and The Ghost]"),
        "line 8, column 9: one who is not on stage cannot speak",
    ),
    "one who enters twice": (
        "shakespeare",
        STANDARD,
        play(OPEN, stage="[Enter Romeo]\n[Enter Romeo]"),
        "line 8, column 2: already on stage",
    ),
    "no number to listen to": (
        "shakespeare",
        BOTH,
        play("Listen to your heart."),
        "line 8, column 9: no number stands in the input",
    ),
    "an operand that is missing": (
        "unlambda",
        BOTH,
        "``.ai",
        "line 1, column 6: the program ends before its expression does",
    ),
    "a blank program": ("unlambda", BOTH, " \n", "line 2, column 1: the program ends before its expression does"),
    "more than one expression": ("unlambda", BOTH, "`.ai\nk", "line 2, column 1: the program has ended here"),
    "a function that is none": ("unlambda", BOTH, "`.a\x01", "line 1, column 4: unknown function '?'"),
    "a character that is missing": ("unlambda", BOTH, "`i.", "line 1, column 3: '.' without a character"),
}


@pytest.mark.parametrize("what", INVALID)
def test_an_error_is_one_line_with_its_place(what: str) -> None:
    language, dialects, program, message = INVALID[what]
    for dialect in dialects:
        answer = run(language, program, dialect=dialect)
        said = answer.stderr.decode()
        assert answer.returncode == 1
        assert said.endswith(f"{message}\n")
        assert said.count("\n") == 1


def test_output_before_an_error_is_kept() -> None:
    assert run("brainfuck", "+++.<").stdout == b"\x03"

"""The interpreters of the esoteric languages keep to their language in both dialects, and survive any program."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from agnostics.errors import MissingRequirement
from agnostics.host import load_host
from agnostics.language import Language
from agnostics.task import Task, Test
from agnostics.verify import Verifier
from agnostics_lang_esolangs import interpreter
from agnostics_lang_esolangs.interpreter import INTERPRETERS, EsoLanguage, interpreter_path

PREDICTIONS = Path(__file__).parents[3] / "shared" / "data" / "esolang_bench" / "esolang_output_pred.json"
WRONG_EXPECTATIONS = {
    "OP-WS04": "it prints 'He': its comment says 105, but what it pushes is 101",
    "OP-SPL01": "a hero is worth 1, not 10",
    "OP-SPL02": "'dog' is in no list of nouns",
    "OP-SPL03": "a sun and a cat are worth 1 each, not 5 and 3",
    "OP-SPL04": "'soldier' is in no list of nouns",
}
BOTH = ("benchmark", "standard")
BENCHMARK, STANDARD = BOTH[:1], BOTH[1:]
Program = str | bytes
Claim = tuple[tuple[str, ...], Program, Program, Program]
"""The dialects, the program, its input and its output."""


def run(
    language: str, program: Program, given: Program = b"", dialect: str = "benchmark", steps: int | None = None
) -> subprocess.CompletedProcess[bytes]:
    """What a program does; its file is called `program`."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "program"
        file.write_bytes(_bytes(program))
        words = [
            str(interpreter_path(language)),
            "--dialect",
            dialect,
            *(() if steps is None else ("--steps", str(steps))),
        ]
        return subprocess.run([*words, str(file)], input=_bytes(given), capture_output=True, timeout=60, check=False)


def _bytes(text: Program) -> bytes:
    return text.encode() if isinstance(text, str) else text


def signs(letters: str) -> str:
    """A Whitespace program from the letters S, T and L; all else is left out."""
    return "".join({"S": " ", "T": "\t", "L": "\n"}.get(letter, "") for letter in letters)


def play(lines: str, *, stage: str = "[Enter Romeo and Juliet]", more: str = "") -> str:
    """A play in which Juliet speaks to Romeo."""
    people = "Romeo, a listener.\nJuliet, a speaker.\nThe Ghost, a ghost.\n"
    return f"A Play.\n{people}Act I: One.\nScene I: One.\n{stage}\nJuliet: {lines}\n{more}"


BRAINFUCK: dict[str, Claim] = {
    "a cell wraps from 0 to 255 and back": (BOTH, "-.+.", "", b"\xff\x00"),
    "the tape has more than 30000 cells": (BOTH, "+" + ">+" * 40_000 + ".", "", b"\x01"),
    "a loop is passed over where the cell is 0": (BOTH, "[.]++[-.]", "", b"\x01\x00"),
    "all other characters are comments": (BOTH, "Read, and\xe9 write.\0", "x", "x"),
    "the end of the input is 0": (BENCHMARK, "+,.", "", b"\x00"),
    "the end of the input leaves the cell": (STANDARD, "+,.", "", b"\x01"),
    "a byte of the input is a byte of the output": (BOTH, ",.,.,.", b"\xff\x00\n", b"\xff\x00\n"),
    "a blank program does nothing": (BOTH, "", "", ""),
}
BEFUNGE: dict[str, Claim] = {
    "a number is written with a space": (BOTH, "1.2.@", "", "1 2 "),
    "f is 15": (BOTH, "f.@", "", "15 "),
    "the second popped is the first operand": (BOTH, "73-.73/.73%.73`.@", "", "4 2 1 1 "),
    "a quotient is rounded towards zero": (BOTH, "07-2/.@", "", "-3 "),
    "a remainder has the sign of the divisor": (BENCHMARK, "07-3%.@", "", "2 "),
    "a remainder has the sign of the dividend": (STANDARD, "07-3%.@", "", "-1 "),
    "a quotient by zero is 0, a remainder too": (STANDARD, "50/.50%.@", "", "0 0 "),
    "an empty stack pops 0": (STANDARD, "..@", "", "0 0 "),
    "dup of the empty stack leaves one 0": (BENCHMARK, ":.1.@", "", "0 1 "),
    "dup of the empty stack leaves two 0": (STANDARD, ":f8+y.@", "", "2 "),
    "swap on the empty stack leaves two 0": (STANDARD, "\\f8+y.@", "", "2 "),
    "a text ends the usual loop": (BOTH, 'a"iH">:#,_@', "", "Hi\n"),
    "spaces in a string are all pushed": (BENCHMARK, '"  ",,@', "", "  "),
    "spaces in a string are pushed once": (STANDARD, '"  ",,@', "", b" \x00"),
    "comments are passed over": (BOTH, ";1.;2.@", "", "2 "),
    "a row wraps around": (BOTH, "<@.1\n", "", "1 "),
    "columns wrap around": (BOTH, "^@\n\n>7.@", "", "7 "),
    "# passes over a cell": (BOTH, "#@1.@", "", "1 "),
    "j jumps forward": (BOTH, "1j@2.@", "", "2 "),
    "j jumps backward": (BOTH, "5#@.06-j", "", "5 "),
    "s stores in the next cell and passes over it": (BOTH, "'As 30g,@", "", "A"),
    "' fetches the next byte": (BOTH, b"'\xe9.@", "", "233 "),
    "[ turns left": (BOTH, "v>7.@\n>[8.@", "", "7 "),
    "] turns right": (BOTH, "]9.@\n>7.@", "", "7 "),
    "r turns back": (BOTH, "#@r1.@", "", ""),
    "n empties the stack": (BOTH, "12n3.:.@", "", "3 0 "),
    "the end of the input is -1": (BENCHMARK, "~.@", "", "-1 "),
    "the end of the input reflects": (STANDARD, "#@~1.@", "", ""),
    "& reads a number with its sign": (BENCHMARK, "&.&.@", " -12\n+3", "-12 3 "),
    "& is 0 where no number stands": (BENCHMARK, "&.@", "x", "0 "),
    "& passes over what is no digit": (STANDARD, "&.&.@", "x-12y3", "12 3 "),
    "& at the end of the input reflects": (STANDARD, "#@&1.@", "x", ""),
    "space is a torus of the program's size": (BENCHMARK, "01-0g,@Z", "", "Z"),
    "cells keep a byte": (BENCHMARK, "'d3*10p10g.@", "", "44 "),
    "q ends the program": (BENCHMARK, "1.q2.@", "", "1 "),
    "space goes below zero": (STANDARD, "904-05-p04-05-g.@", "", "9 "),
    "cells keep 64 bits": (STANDARD, "f:*:*:*:*:00p00g-.@", "", "0 "),
    "k repeats the next instruction, which is met again": (STANDARD, "2k6...@", "", "6 6 6 "),
    "0k passes over the next instruction": (STANDARD, "0k@1.@", "", "1 "),
    "k finds its instruction beyond spaces and comments": (STANDARD, "2k ;x;5...@", "", "5 5 5 "),
    "k turns from where it stands": (STANDARD, "v >7.@\n>1k[8.@", "", "7 "),
    "k jumps from where it stands": (STANDARD, "2k#12..@", "", "2 0 "),
    "x sets the direction": (STANDARD, "20x 1 . @", "", "1 "),
    "a flight with another direction wraps to the cell it came by": (STANDARD, "0v\n@>20x 7 .", "", "7 "),
    "w turns right where the first is greater": (STANDARD, "21w@\n  >7.@", "", "7 "),
    "w goes on where both are equal": (STANDARD, "22w7.@", "", "7 "),
    "z does nothing": (STANDARD, "z1.@", "", "1 "),
    "{ takes cells along in their order": (STANDARD, "1232{...@", "", "3 2 0 "),
    "{ below zero leaves zeros behind": (STANDARD, "5602-{0}....@", "", "0 0 6 5 "),
    "{ moves the origin of g and p": (STANDARD, "0{00g,@", "", "0"),
    "} brings cells back and the origin": (STANDARD, "1232{41}..00g.@", "", "4 1 49 "),
    "} below zero drops cells": (STANDARD, "560{02-}..@", "", "0 0 "),
    "} reflects on the only stack": (STANDARD, "#@}1.@", "", ""),
    "u reflects on the only stack": (STANDARD, "#@u1.@", "", ""),
    "u takes cells from the stack below, the top first": (STANDARD, "120{3u...@", "", "2 0 0 "),
    "u below zero gives cells to the stack below": (STANDARD, "0{1202-u..2u..@", "", "0 0 2 1 "),
    "y says that t, i, o and = are missing": (STANDARD, "1y.@", "", "0 "),
    "y says 8 bytes a cell and 2 dimensions": (STANDARD, "2y.7y.@", "", "8 2 "),
    "y tells the size of the stack": (STANDARD, "11f8+y.@", "", "2 "),
    "y picks from the stack what lies beyond its own cells": (STANDARD, "9ff5++y.@", "", "9 "),
    "y tells the least point": (STANDARD, "104-05-pf1+y.f2+y.@", "", "-5 -4 "),
    "y sees that space shrinks": (STANDARD, "104-05-p' 04-05-pf1+y.@", "", "0 "),
    **{f"{letter} reflects": (STANDARD, f"#@{letter}1.@", "", "") for letter in "tio=hlmAZ"},
    "( pops the whole fingerprint and reflects": (STANDARD, "91113#@ #.(", "", "9 "),
    "a form feed is not there": (STANDARD, "1\f.@", "", "1 "),
    "lines may end in two bytes": (BOTH, "v\r\n>7.@", "", "7 "),
}
WHITESPACE: dict[str, Claim] = {
    "a literal has a sign and bits": (BOTH, signs("SSSTSTL TLST SSTTL TLST LLL"), "", "5-1"),
    "no bits are 0": (BOTH, signs("SSSL TLST LLL"), "", "0"),
    "dup, swap and discard": (BOTH, signs("SSSTL SSSTSL SLT TLST SLS TLST SLL LLL"), "", "12"),
    "copy reaches into the stack": (BOTH, signs("SSSTTL SSSTL SSSTL STSSTSL TLST LLL"), "", "3"),
    "slide drops what is below the top": (BOTH, signs("SSSTTL SSSTL SSSTSL STLSTL TLST TLST LLL"), "", "23"),
    "slide may drop more than there is": (STANDARD, signs("SSSTL SSSTSL STLSTTTL TLST LLL"), "", "2"),
    "all but letters S, T and L are comments": (BOTH, "push   \t\n" + "put\t\n \tend\n\n\n", "", "1"),
    "sub is the first less the second": (BOTH, signs("SSSTTTL SSSTTL TSST TLST LLL"), "", "4"),
    "numbers have any size": (
        BOTH,
        signs("SSST" + "S" * 64 + "L SLS TSSL TLST LLL"),
        "",
        str(2**128),
    ),
    "big numbers are divided": (
        BOTH,
        signs("SSST" + "S" * 128 + "L SLS SSSTSTSTL TSTS TLST SSSTTTTTTTL TSTT TLST LLL"),
        "",
        f"{2**128 // 21}{2**128 % 127}",
    ),
    "a quotient is rounded towards zero": (BENCHMARK, signs("SSTTTTL SSSTSL TSTS TLST LLL"), "", "-3"),
    "a quotient is rounded down": (STANDARD, signs("SSTTTTL SSSTSL TSTS TLST LLL"), "", "-4"),
    "a remainder has the sign of the divisor": (BOTH, signs("SSTTTTL SSSTTL TSTT TLST LLL"), "", "2"),
    "the heap keeps a number at any address": (
        BOTH,
        signs("SSTT" + "S" * 70 + "L SLS SSSTSTL TTS TTT TLST LLL"),
        "",
        "5",
    ),
    "an unused address of the heap holds 0": (STANDARD, signs("SSSTL TTT TLST LLL"), "", "0"),
    "a character is read as a byte": (BOTH, signs("SSSL SLS TLTS TTT TLST LLL"), "é", "195"),
    "the end of the input is -1": (BOTH, signs("SSSL SLS TLTS TTT TLST LLL"), "", "-1"),
    "a number is read wherever it stands": (BENCHMARK, signs("SSSL SLS TLTT TTT TLST LLL"), "\n -7x", "-7"),
    "no number is -1": (BENCHMARK, signs("SSSL SLS TLTT TTT TLST LLL"), "x", "-1"),
    "a number is read with its line": (
        STANDARD,
        signs("SSSL SLS TLTT TTT TLST SSSL SLS TLTS TTT TLSS LLL"),
        "-7 \nx",
        "-7x",
    ),
    "the end of the program is no error": (BENCHMARK, signs("SSSTL TLST"), "", "1"),
    "a character is its last byte": (BENCHMARK, signs("SSSTSTSSSSSTL TLSS LLL"), "", "A"),
    "a call returns behind itself": (BOTH, signs("LSTSL SSSTSL TLST LLL LSSSL SSSTL TLST LTL"), "", "12"),
    "labels differ by their length": (BOTH, signs("LSLSSL LSSSL SSSTL TLST LSSSSL SSSTSL TLST LLL"), "", "2"),
    "jumps test for zero and below": (
        BOTH,
        signs("SSSL LTSSL LLL LSSSL SSTTL LTTTL LLL LSSTL SSSTL TLST LLL"),
        "",
        "1",
    ),
    "a missing label is no error until it is jumped to": (STANDARD, signs("SSSTL LTSSL SSSTL TLST LLL"), "", "1"),
    "of two labels of one name the first counts": (
        STANDARD,
        signs("LSLTL LSSTL SSSTL TLST LLL LSSTL LLL"),
        "",
        "1",
    ),
}
OPEN, SPEAK = "Open your heart.", "Speak your mind."
SHAKESPEARE: dict[str, Claim] = {
    "every adjective doubles": (BOTH, play(f"You are a big big big cat. {OPEN}"), "", "8"),
    "a negative noun is below zero": (BOTH, play(f"You are a big rotten pig. {OPEN}"), "", "-4"),
    "nothing and zero are 0": (BOTH, play(f"You are the sum of nothing and zero. {OPEN}"), "", "0"),
    "as ADJECTIVE as": (BOTH, play(f"Thou art as lovely as the cube of a big cat! {OPEN}"), "", "8"),
    "no verb is needed": (BOTH, play(f"You lying stupid fatherless coward! {OPEN}"), "", "-8"),
    "a summer's day is a noun": (BOTH, play(f"You are a fair summer's day. {OPEN}"), "", "2"),
    "the card's own nouns": (BENCHMARK, play(f"You are the sum of a big sun and a beast. {OPEN}"), "", "1"),
    "any word is an adjective": (BENCHMARK, play(f"You are a shiny metallic cat. {OPEN}"), "", "4"),
    "operators nest": (
        BOTH,
        play(f"You are the product of the difference between a big big cat and a cat and twice a cat. {OPEN}"),
        "",
        "6",
    ),
    "square root and factorial": (
        BOTH,
        play(f"You are the factorial of the square root of the sum of a big big big big cat and a big big cat. {OPEN}"),
        "",
        "24",
    ),
    "a quotient is rounded down": (
        BENCHMARK,
        play(f"You are the quotient between a pig and a big cat. {OPEN}"),
        "",
        "-1",
    ),
    "a quotient is rounded towards zero": (
        STANDARD,
        play(f"You are the quotient between a pig and a big cat. {OPEN}"),
        "",
        "0",
    ),
    "a remainder is that of the quotient rounded down": (
        BENCHMARK,
        play(f"You are the remainder of the quotient between a pig and a big big cat. {OPEN}"),
        "",
        "3",
    ),
    "a remainder is that of the quotient rounded towards zero": (
        STANDARD,
        play(f"You are the remainder of the quotient between a pig and a big big cat. {OPEN}"),
        "",
        "-1",
    ),
    "the listener is spoken of as you, the speaker as me": (
        BOTH,
        play(f"You are a big cat. {OPEN} You are me. {OPEN}", more="Romeo: You are a cat. Open thy heart."),
        "",
        "201",
    ),
    "a character is a value by its name": (
        BOTH,
        play(f"You are the sum of The Ghost and a cat. {OPEN}"),
        "",
        "1",
    ),
    "the stack is the listener's": (
        BOTH,
        play(f"Remember a big cat. Remember a cat. Recall! {OPEN} Recall your youth. {OPEN}"),
        "",
        "12",
    ),
    "a character is read as a byte, and -1 at the end": (
        BOTH,
        play(f"Open thy mind. {OPEN} Open thy mind. {OPEN}"),
        "A",
        "65-1",
    ),
    "numbers are read with their sign": (BOTH, play(f"Listen to your heart. {OPEN}" * 2), " -12\n30", "-1230"),
    "if so and if not": (
        BOTH,
        play(f"Am I better than a pig? If so, {OPEN} If not, {SPEAK} Are you worse than me? If not, {OPEN}"),
        "",
        "00",
    ),
    "more and less compare": (
        BOTH,
        play(f"Am I more lovely than a pig? If so, {OPEN} Am I less evil than a pig? If so, {OPEN}"),
        "",
        "00",
    ),
    "not turns a comparison round": (BOTH, play(f"Am I not as good as you? If not, {OPEN}"), "", "0"),
    "a jump leads to a scene": (
        BOTH,
        play(f"We must proceed to Scene III. Scene II: No. Juliet: {OPEN} Scene III: Yes. Juliet: {OPEN}{OPEN}"),
        "",
        "00",
    ),
    "a jump leads to an act": (
        BOTH,
        play(f"Let us proceed to Act II. {OPEN} Act II: Two. Scene IX: Nine. Juliet: You are a cat. {OPEN}"),
        "",
        "1",
    ),
    "scenes are numbered within their act": (
        STANDARD,
        play(
            "Let us proceed to Act II.",
            more=f"Act II: Two. Scene I: One. Juliet: {OPEN} Are you better than nothing? "
            "If so, let us proceed to scene II. You are a cat. Let us return to scene I. Scene II: Two.",
        ),
        "",
        "01",
    ),
    "brackets may be left out": (BENCHMARK, play(f"{OPEN} Exeunt.", stage="Enter Romeo and Juliet."), "", "0"),
    "any name will do": (BENCHMARK, play("Speak your mind.").replace("Romeo", "Bob the Builder"), "", b"\x00"),
    "a pause does nothing": (BOTH, play(f"{OPEN}", more="[A pause]"), "", "0"),
    "who leaves is gone, and another is the listener": (
        BOTH,
        play(f"You are a cat.\n[Exit Romeo]\n[Enter The Ghost]\nJuliet: {OPEN}"),
        "",
        "0",
    ),
}
UNLAMBDA: dict[str, Claim] = {
    ".x prints and gives back its argument": (BOTH, "```.H.i.!i", "", "Hi!"),
    "r prints a newline": (BOTH, "`ri", "", "\n"),
    "letters may be large": (BOTH, "```K.Y.NI", "", "Y"),
    "k keeps its first argument": (BOTH, "```k.Y.Ni", "", "Y"),
    "s distributes its last argument": (BOTH, "````s`k.Ak.Bi", "", "A"),
    "v swallows all": (BOTH, "``v.A`.Bi", "", "B"),
    "white space and comments are passed over": (BOTH, "# `.Xi\n` `\n.a.b i # done", "", "ab"),
    "the character of .x may be any": (BOTH, b"```. .\n.\xffi", "", b" \n\xff"),
    "d holds its argument back": (BOTH, "`d`.Xi", "", ""),
    "d gives way when it is applied": (BOTH, "``d`.X.Yi", "", "XY"),
    "d is found only when the function was evaluated": (BOTH, "``id`.Xi", "", ""),
    "d is found within s": (BOTH, "``k```si.Xd``.O.Ki", "", "OK"),
    "what is not d itself holds nothing back": (BOTH, "``dd`.Xi", "", "X"),
    "c calls with a continuation, which may be called": (BOTH, "``cd`.Xi", "", "XX"),
    "c leaves by its continuation": (BOTH, "`.A`c``s`k.B``si`ki", "", "A"),
    "e ends the program": (BOTH, "`.C`e`.Bi", "", "B"),
    "@ says whether there is a character": (BOTH, "```@i.Ai", "", ""),
    "@ and | echo": (BOTH, "```s`d`@|i`ci", b"a\xff\n\x00b", b"a\xff\n\x00b"),
    "? compares the character read": (BOTH, "``\n```@i.Oi\n```?Xi.Ki\n```?Yi.Zi", "X", "OK"),
    "| is void after the end of the input": (BOTH, "``@`v`@|`|``s``si`k.F`ki", "x", ""),
}
CLAIMS = [
    pytest.param(language, dialect, *rest, id=f"{language}: {claim} ({dialect})")
    for language, claims in zip(
        ("brainfuck", "befunge98", "whitespace", "shakespeare", "unlambda"),
        (BRAINFUCK, BEFUNGE, WHITESPACE, SHAKESPEARE, UNLAMBDA),
        strict=True,
    )
    for claim, (dialects, *rest) in claims.items()
    for dialect in dialects
]


@pytest.mark.parametrize(("language", "dialect", "program", "given", "output"), CLAIMS)
def test_claim(language: str, dialect: str, program: Program, given: Program, output: Program) -> None:
    answer = run(language, program, given, dialect)
    assert (answer.stdout, answer.returncode, answer.stderr) == (_bytes(output), 0, b"")


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
def test_one_line_says_what_is_wrong_and_where(what: str) -> None:
    language, dialects, program, message = INVALID[what]
    for dialect in dialects:
        answer = run(language, program, dialect=dialect)
        said = answer.stderr.decode()
        assert answer.returncode == 1
        assert said.endswith(f"{message}\n")
        assert said.count("\n") == 1


def test_what_was_written_before_an_error_is_there() -> None:
    assert run("brainfuck", "+++.<").stdout == b"\x03"


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
    (suffix,) = (path.suffix for path in _contract(language).glob("loop.*"))
    answer = run(language, (_contract(language) / f"loop{suffix}").read_bytes(), dialect=dialect)
    assert (answer.returncode, answer.stderr) == (-signal.SIGXCPU, b"step limit of 10000000 reached\n")


def test_zero_steps_are_no_limit() -> None:
    """Three nested loops of 256 rounds each take more than ten million steps."""
    loops = "-[>-[>-[-]<-]<-]"
    assert run("brainfuck", loops).returncode == -signal.SIGXCPU
    assert run("brainfuck", loops, steps=0).returncode == 0


def test_what_was_written_before_the_last_step_is_there() -> None:
    answer = run("brainfuck", "+[.]", steps=100_001)
    assert answer.stdout == b"\x01" * 50_000


def _contract(language: str) -> Path:
    return Path(interpreter.__file__).parent / "languages" / language / "contract"


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
def test_a_hostile_program_ends_with_a_result_an_error_or_its_steps(what: str, dialect: str) -> None:
    language, program = HOSTILE[what]
    answer = run(language, program, b"\0\xff\n99999999999999999999\n", dialect)
    assert answer.returncode in {0, 1, -signal.SIGXCPU}
    assert answer.returncode == 0 or answer.stderr.count(b"\n") == 1


@pytest.mark.parametrize("language", INTERPRETERS)
def test_where_memory_ends_one_line_says_so(language: str) -> None:
    """Each contract's `memory` under a limit of the address space, and without a limit of its steps."""
    (program,) = _contract(language).glob("memory.*")
    command = f"ulimit -v 100000; exec '{interpreter_path(language)}' --steps 0 '{program}'"
    answer = subprocess.run(["sh", "-c", command], capture_output=True, timeout=60, check=False)
    assert (answer.returncode, answer.stderr) == (1, b"out of memory\n")


def _expected(problem: dict[str, str]) -> bytes:
    return problem["expected_output"].encode()


@pytest.mark.skipif(not PREDICTIONS.exists(), reason="the problems of EsoLang-Bench are not beside this checkout")
def test_the_predicted_outputs_of_esolang_bench_come_out() -> None:
    """All but those of which the program, or the language's card, says otherwise."""
    wrong = set()
    for problem in json.loads(PREDICTIONS.read_text())["problems"]:
        language = problem["language"].lower().replace("-", "")
        code = problem["code"]
        if language == "whitespace":
            code = code.replace("[S]", " ").replace("[T]", "\t").replace("[N]", "\n")
        if run(language, code, problem["input"]).stdout.rstrip() != _expected(problem):
            wrong.add(problem["id"])
    assert wrong == set(WRONG_EXPECTATIONS)


def agn(*words: str | Path, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-c", "from agnostics.cli import main; main()", *words]
    return subprocess.run(command, input=given, capture_output=True, timeout=60, check=False)


def test_a_person_can_try_a_program(tmp_path: Path) -> None:
    file = tmp_path / "echo.bf"
    file.write_text("+,.")
    assert agn("esolang", "brainfuck", file, given=b"x").stdout == b"x"
    assert agn("esolang", "brainfuck", file).stdout == b"\x00"
    assert agn("esolang", "brainfuck", file, "--dialect", "standard").stdout == b"\x01"
    assert agn("esolang", "brainfuck", file, "--steps", "2").returncode == -signal.SIGXCPU


def test_a_person_is_told_what_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "a.bf"
    file.write_text("[")
    unknown, missing, invalid = (
        agn("esolang", "brainfork", file),
        agn("esolang", "unlambda", "no.unl"),
        agn("esolang", "brainfuck", file),
    )
    assert (unknown.returncode, unknown.stderr) == (
        2,
        b"agn: unknown language 'brainfork'; did you mean 'brainfuck'?\n",
    )
    assert (missing.returncode, missing.stderr) == (2, b"agn: no.unl: no such file\n")
    assert (invalid.returncode, invalid.stderr) == (1, b"line 1, column 1: '[' without its partner\n")


@pytest.fixture(scope="module")
def esolangs() -> dict[str, Language]:
    return {name: made for name, made in load_host().languages().items() if isinstance(made, EsoLanguage)}


def test_every_language_is_there_and_those_that_differ_in_their_standard_dialect(esolangs: dict[str, Language]) -> None:
    assert sorted(esolangs) == sorted(
        [*INTERPRETERS, *(f"{name}-standard" for name in INTERPRETERS if name != "unlambda")]
    )


def test_a_dialect_is_told_in_the_prompt_and_to_the_interpreter(esolangs: dict[str, Language]) -> None:
    for name in INTERPRETERS:
        assert esolangs[name].prompt.startswith("## ")
        assert esolangs[name].execute_argv()[:2] != ["./interpreter", "--dialect"]
    for name in (name for name in esolangs if name.endswith("-standard")):
        assert "standard" in esolangs[name].prompt.splitlines()[-1]
        assert esolangs[name].execute_argv()[:3] == ["./interpreter", "--dialect", "standard"]


def test_an_interpreter_that_was_not_built_is_named_with_what_builds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "abacus")
    with pytest.raises(MissingRequirement, match=r"brainfuck-abacus.*; run: pip install"):
        interpreter_path("brainfuck")


def test_verdicts_of_the_sandbox(mode: str, esolangs: dict[str, Language]) -> None:
    task = Task(id="echo", tests=(Test(input="a\n", output="a\n"),))
    programs = {"accepted": ",[.>,]", "wrong_answer": "+.", "time_limit": "+[]", "runtime_error": "<"}
    with Verifier(mode, 1, languages=esolangs) as verifier:
        found = {
            verdict: verifier.verify(esolangs["brainfuck"], program, task) for verdict, program in programs.items()
        }
    assert {verdict: found[verdict].verdict for verdict in found} == {verdict: verdict for verdict in programs}
    assert found["time_limit"].tests[0].signal == signal.SIGXCPU
    assert "below cell 0" in found["runtime_error"].tests[0].stderr


def test_an_answer_of_white_space_is_a_program_in_whitespace_and_nowhere_else() -> None:
    answer = "The end:\n```whitespace\n\n\n\n```\n"
    whitespace, brainfuck = load_host().language("whitespace"), load_host().language("brainfuck")
    assert (whitespace.program_in(answer), brainfuck.program_in(answer)) == ("\n\n\n", None)
    task = Task(id="end", tests=(Test(input="", output=""),))
    with Verifier("bubblewrap", 1) as verifier:
        assert verifier.verify(whitespace, "\n\n\n", task).verdict == "accepted"
        assert verifier.verify(brainfuck, "\n\n\n", task).verdict == "no_program"

"""The interpreters of the esoteric languages follow the definition of their language in both dialects."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from esolang import BENCHMARK, BOTH, OPEN, SPEAK, STANDARD, Program, as_bytes, play, run, signs

PREDICTIONS = Path(__file__).parents[3] / "shared" / "data" / "esolang_bench" / "esolang_output_pred.json"
WRONG_EXPECTATIONS = {
    "OP-WS04": "it prints 'He': its comment says 105, but what it pushes is 101",
    "OP-SPL01": "a hero is worth 1, not 10",
    "OP-SPL02": "'dog' is in no list of nouns",
    "OP-SPL03": "a sun and a cat are worth 1 each, not 5 and 3",
    "OP-SPL04": "'soldier' is in no list of nouns",
}
Claim = tuple[tuple[str, ...], Program, Program, Program]
"""The dialects, the program, its input and its output."""


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
def test_behaviour(language: str, dialect: str, program: Program, given: Program, output: Program) -> None:
    answer = run(language, program, given, dialect)
    assert (answer.stdout, answer.returncode, answer.stderr) == (as_bytes(output), 0, b"")


def _expected(problem: dict[str, str]) -> bytes:
    return problem["expected_output"].encode()


@pytest.mark.skipif(not PREDICTIONS.exists(), reason="the problems of EsoLang-Bench are not beside this checkout")
def test_the_predicted_outputs_of_esolang_bench_are_printed() -> None:
    """All except those that contradict the program, or the language's card."""
    wrong = set()
    for problem in json.loads(PREDICTIONS.read_text())["problems"]:
        language = problem["language"].lower().replace("-", "")
        code = problem["code"]
        if language == "whitespace":
            code = code.replace("[S]", " ").replace("[T]", "\t").replace("[N]", "\n")
        if run(language, code, problem["input"]).stdout.rstrip() != _expected(problem):
            wrong.add(problem["id"])
    assert wrong == set(WRONG_EXPECTATIONS)

"""Small programs in Brainfuck. Letters are read as bytes, to which numbers are added."""

from __future__ import annotations

from agnostics_datasets.trace_programs.family import ProgramFamily, TracedLanguage, words

_LETTER = words("abcdef", range(1, 2), "")


def _sum(text: str, *terms: int) -> str:
    """The first letter, moved on by a number."""
    return chr(ord(text[0]) + sum(terms))


def _moved(text: str, k: int) -> str:
    return "".join(chr(ord(letter) + k) for letter in text)


FAMILIES = (
    ProgramFamily("add", ",@k+@.", {"k": range(1, 21)}, _LETTER, lambda text, k: _sum(text, k)),
    ProgramFamily(
        "product",
        ",>@a+@[<@b+@>-]<.",
        {"a": range(2, 5), "b": range(2, 6)},
        _LETTER,
        lambda text, a, b: _sum(text, a * b),
    ),
    ProgramFamily(
        "difference",
        ",>@a+@>@b+@\n[-<->]\n<[-<+>]\n<.",
        {"a": range(4, 8), "b": range(1, 4)},
        _LETTER,
        lambda text, a, b: _sum(text, a, -b),
    ),
    ProgramFamily(
        "copies",
        "@a+@\n[->+>+<<]\n>>>,\n<[->+<]\n<[->>+<<]\n>>.",
        {"a": range(1, 4)},
        _LETTER,
        lambda text, a: _sum(text, a, a),
    ),
    ProgramFamily(
        "nested",
        ">@a+@\n[>@b+@[<<+>>-]<-]\n>,\n<<[->>+<<]\n>>.",
        {"a": range(1, 4), "b": range(1, 3)},
        _LETTER,
        lambda text, a, b: _sum(text, a * b),
    ),
    ProgramFamily("each", ",[@k+@.>,]", {"k": range(1, 11)}, words("abcdef", range(2, 5), ""), _moved),
    ProgramFamily(
        "backwards",
        ">,[@k+@>,]\n<[.<]",
        {"k": range(1, 9)},
        words("abcdef", range(2, 5), ""),
        lambda text, k: _moved(text, k)[::-1],
    ),
    ProgramFamily(
        "every_other",
        ",[@k+@.>,>,]",
        {"k": range(1, 9)},
        words("abcdef", range(3, 7), ""),
        lambda text, k: _moved(text[::2], k),
    ),
    ProgramFamily(
        "echo",
        ",[..@k+@.>,]",
        {"k": range(1, 9)},
        words("abcdef", range(1, 4), ""),
        lambda text, k: "".join(letter * 2 + _moved(letter, k) for letter in text),
    ),
)
PROGRAMS = TracedLanguage(
    "brainfuck",
    FAMILIES,
    {
        "text": ",>++\n[<+>-]\n<.",
        "input": "a",
        "output": "c",
        "thought": (
            "The byte of the letter a, 97, is read into cell 0, and cell 1 becomes 2.\n"
            "The loop runs 2 times, and each time adds 1 to cell 0: it is 99.\nThe byte 99 is the letter c."
        ),
    },
)

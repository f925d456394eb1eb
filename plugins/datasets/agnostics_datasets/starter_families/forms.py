"""The forms of input that the families of `starter-families` have beside those of `starter`."""

from __future__ import annotations

from random import Random
from string import ascii_lowercase

from agnostics_datasets.starter.family import Form
from agnostics_datasets.starter.forms import LETTERS, LIST, Drawn

NAMES = ("ann", "bob", "cleo", "dan", "eve", "finn", "gus", "hana", "ivo", "jane", "kim", "leo")


def _number(rng: Random, wide: bool) -> int:
    return rng.randint(-99, 999) if wide else rng.randint(0, 50)


def _natural(rng: Random, wide: bool) -> int:
    return rng.randint(41, 999) if wide else rng.randint(1, 40)


def _length(rng: Random, wide: bool) -> int:
    return rng.choice((2, 9, 11, 14)) if wide else rng.randint(3, 7)


def _letters(rng: Random, wide: bool) -> str:
    return "".join(rng.choices(ascii_lowercase if wide else LETTERS, k=_length(rng, wide)))


def _integers(rng: Random, wide: bool) -> list[int]:
    low, high = (-40, 60) if wide else (1, 20)
    return [rng.randint(low, high) for _ in range(_length(rng, wide))]


def _pair(rng: Random, wide: bool) -> Drawn:
    a, b = _number(rng, wide), _number(rng, wide)
    return f"{a} {b}\n", (a, b)


def _natural_pair(rng: Random, wide: bool) -> Drawn:
    a, b = _natural(rng, wide), _natural(rng, wide)
    return f"{a} {b}\n", (a, b)


def _range(rng: Random, wide: bool) -> Drawn:
    a, b = sorted((_natural(rng, wide), _natural(rng, wide)))
    return f"{a} {b}\n", (a, b)


def _triple(rng: Random, wide: bool) -> Drawn:
    values = tuple(_natural(rng, wide) for _ in range(3))
    return f"{values[0]} {values[1]} {values[2]}\n", values


def _listed(numbers: list[int]) -> Drawn:
    return f"{len(numbers)}\n{' '.join(map(str, numbers))}\n", (numbers,)


def _several(rng: Random, wide: bool) -> Drawn:
    return _listed(_integers(rng, wide))


def _rising(rng: Random, wide: bool) -> Drawn:
    numbers = _integers(rng, wide)
    return _listed(sorted(numbers) if rng.random() < 0.5 else numbers)


def _counts(rng: Random, wide: bool) -> Drawn:
    return _listed([rng.randint(1, 15 if wide else 8) for _ in range(_length(rng, wide))])


def _stream(rng: Random, wide: bool) -> Drawn:
    numbers = _integers(rng, wide)
    return "".join(f"{number}\n" for number in numbers), (numbers,)


def _mirrored(rng: Random, wide: bool) -> Drawn:
    half = _letters(rng, wide)
    word = half + half[::-1][rng.randint(0, 1) :] if rng.random() < 0.5 else half
    return f"{word}\n", (word,)


def _runs(rng: Random, wide: bool) -> Drawn:
    word = "".join(rng.choice(LETTERS) * rng.randint(1, 4) for _ in range(_length(rng, wide) // 2 + 1))
    return f"{word}\n", (word,)


def _bits(rng: Random, wide: bool) -> Drawn:
    word = "1" + "".join(rng.choices("01", k=_length(rng, wide)))
    return f"{word}\n", (word,)


def _two_words(rng: Random, wide: bool) -> Drawn:
    first, second = _letters(rng, wide), _letters(rng, wide)
    shared = rng.randint(0, 3)
    second = first[:shared] + second[shared:]
    return f"{first}\n{second}\n", (first, second)


def _lines(rng: Random, wide: bool) -> Drawn:
    words = [_letters(rng, False) for _ in range(_length(rng, wide))]
    return f"{len(words)}\n" + "".join(f"{word}\n" for word in words), (words,)


def _records(rng: Random, wide: bool) -> Drawn:
    names = rng.sample(NAMES, rng.randint(7, 11) if wide else rng.randint(2, 6))
    records = [(name, _natural(rng, wide)) for name in names]
    return f"{len(records)}\n" + "".join(f"{name} {number}\n" for name, number in records), (records,)


def _grid(rng: Random, wide: bool) -> Drawn:
    rows, columns = rng.randint(2, 5 if wide else 3), rng.randint(2, 5 if wide else 3)
    low = -20 if wide else 0
    grid = [[rng.randint(low, 30) for _ in range(columns)] for _ in range(rows)]
    return f"{rows} {columns}\n" + "".join(f"{' '.join(map(str, row))}\n" for row in grid), (grid,)


def _commands(rng: Random, wide: bool) -> Drawn:
    moves = [(rng.choice(("add", "sub")), _natural(rng, wide)) for _ in range(_length(rng, wide))]
    changes = [number if word == "add" else -number for word, number in moves]
    return f"{len(moves)}\n" + "".join(f"{word} {number}\n" for word, number in moves), (changes,)


def _votes(rng: Random, wide: bool) -> Drawn:
    votes = rng.choices(("yes", "no"), k=_length(rng, wide) + 2)
    return f"{len(votes)}\n" + "".join(f"{vote}\n" for vote in votes), (votes,)


PAIR = Form(
    ("Read two integers a and b from one line.", "The input is one line with two integers a and b."),
    _pair,
)
NATURAL_PAIR = Form(
    ("Read two positive integers a and b from one line.", "The input is one line with two positive integers a and b."),
    _natural_pair,
)
RANGE = Form(
    (
        "Read two integers a and b from one line; a is at most b.",
        "The input is one line with two integers a and b, where a is not greater than b.",
    ),
    _range,
)
TRIPLE = Form(
    (
        "Read three positive integers a, b and c from one line.",
        "The input is one line with three positive integers a, b and c.",
    ),
    _triple,
)
SEVERAL = Form(
    (
        "The first line holds a count m of at least 2, the second line m integers.",
        "Read m, which is 2 or more, and from the next line m integers.",
    ),
    _several,
)
RISING = Form(SEVERAL.openings, _rising)
COUNTS = Form(
    (
        "The first line holds a count m, the second line m positive integers.",
        "Read m, and from the next line m positive integers.",
    ),
    _counts,
)
REPEATING = Form(LIST.openings, _counts)
STREAM = Form(
    (
        "The input holds one integer per line, until it ends.",
        "Read integers, one per line, until there are no more lines.",
    ),
    _stream,
)
MIRRORED = Form(
    ("Read a word s of lower-case letters.", "The input is one lower-case word s."),
    _mirrored,
)
RUNS = Form(
    (
        "Read a word s in which letters often repeat.",
        "The input is one lower-case word s with letters that repeat.",
    ),
    _runs,
)
BITS = Form(
    (
        "Read a word s of the digits 0 and 1; it begins with 1.",
        "The input is one word s of zeros and ones that begins with 1.",
    ),
    _bits,
)
TWO_WORDS = Form(
    (
        "Read two lower-case words s and t, each from a line of its own.",
        "The first line holds a lower-case word s, the second line a lower-case word t.",
    ),
    _two_words,
)
LINES = Form(
    (
        "The first line holds a count m, and each of the next m lines one word.",
        "Read m, and then m words, one per line.",
    ),
    _lines,
)
RECORDS = Form(
    (
        "The first line holds a count m, and each of the next m lines a name, a space and a positive integer.",
        "Read m, and then m lines; each holds a name, a space and a positive integer.",
    ),
    _records,
)
GRID = Form(
    (
        "The first line holds r and c, and each of the next r lines one row of c integers.",
        "Read r and c from the first line, and then r rows of c integers, one row per line.",
    ),
    _grid,
)
COMMANDS = Form(
    (
        "The first line holds a count m, and each of the next m lines a command: add x or sub x, with an integer x.",
        "Read m, and then m lines; each is a command, either add x or sub x, with an integer x.",
    ),
    _commands,
)
VOTES = Form(
    (
        "The first line holds a count m, and each of the next m lines is yes or no.",
        "Read m, and then m lines; each holds one word, yes or no.",
    ),
    _votes,
)

"""A family of small programs: their text with constants, their inputs, and what they print."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from random import Random

Parameters = dict[str, int | str]


@dataclass(frozen=True)
class ProgramFamily:
    """Programs that differ in their constants: `@name@` in the text stands for the parameter `name`.

    `draw` gives an input; `output` is what the program prints for it, given the parameters.
    """

    name: str
    text: str
    parameters: Mapping[str, Sequence[int | str]]
    draw: Callable[[Random], str]
    output: Callable[..., str]

    def combinations(self) -> list[Parameters]:
        """Every choice of parameters, in a fixed order."""
        return [dict(zip(self.parameters, values, strict=True)) for values in product(*self.parameters.values())]

    def program(self, parameters: Parameters) -> str:
        """The text with these constants; `@name+@` stands for as many plus signs as the number `name` says."""
        text = self.text
        for name, value in parameters.items():
            text = text.replace(f"@{name}@", str(value)).replace(f"@{name}+@", "+" * _count(value))
        return text


@dataclass(frozen=True)
class TracedLanguage:
    """The families of a language, and an example for prompts, whose trace is the file `LANGUAGE.trace`."""

    language: str
    families: tuple[ProgramFamily, ...]
    example: Mapping[str, str]

    def whole_example(self) -> dict[str, str]:
        """The example with the frames of its trace."""
        frames = (Path(__file__).parent / f"{self.language}.trace").read_bytes().decode()
        return {**self.example, "frames": frames}


def numbers(*ranges: range) -> Callable[[Random], str]:
    """Inputs of numbers on one line, each drawn from a range."""
    return lambda rng: " ".join(str(rng.choice(choices)) for choices in ranges) + "\n"


def words(letters: str, lengths: range, end: str = "\n") -> Callable[[Random], str]:
    """Inputs of one word of these letters."""
    return lambda rng: "".join(rng.choices(letters, k=rng.choice(lengths))) + end


def in_turn(
    families: Sequence[ProgramFamily], belongs: Callable[[int], bool], rng: Random
) -> Iterator[tuple[ProgramFamily, int, Parameters]]:
    """The combinations of all families whose number `belongs`, one of each family in turn, in a drawn order."""
    queues = []
    for family in families:
        numbered = [each for each in enumerate(family.combinations()) if belongs(each[0])]
        rng.shuffle(numbered)
        queues.append((family, numbered))
    while queues:
        for family, numbered in queues:
            index, parameters = numbered.pop()
            yield family, index, parameters
        queues = [(family, numbered) for family, numbered in queues if numbered]


def _count(value: int | str) -> int:
    return value if isinstance(value, int) else 0

"""Contamination: what submitted programs share with what their players were shown (appendix D).

Programs of languages that have no words are compared too: a unit is a word, or a run of one other character with its
length. A program is compared by n-grams of units: the fraction of them that the closest text of a source has, and the
Jaccard similarity of both sets, for which MinHash finds the closest one of any number of texts.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from agnostics.analysis.agent_sessions.shown import EARLIER, SOURCES, SessionTexts, ShownText, SubmittedProgram
from agnostics.types.language import Language
from agnostics.util.minhash import MinHashIndex
from agnostics.util.ngrams import WORDS, joined_ngrams

SYMBOLS = 20
"""The units of an n-gram where fewer than half of them are words: 8 symbols of one compiler's programs for different
problems are mostly alike, 20 are not."""
THRESHOLD = 0.5
"""The fraction of shared n-grams, and the similarity, from which on a program is reported."""
MAX_CHARS = 30_000
"""Characters of a text that are read."""
_UNIT = re.compile(r"\w+|([^\w\s])\1*")
_WHITE_SPACE = re.compile(r"(\s)\1*")
_MOST_WHITE = 0.9
_NAMES = {" ": "S", "\t": "T", "\n": "L"}


@dataclass(frozen=True, slots=True)
class Overlap:
    """What a program shares with a source: the `fraction` of its n-grams that the text called `closest` has.

    `example` is the first of these. `similarity` is that to `similar`, the most similar text; 0 below `THRESHOLD`.
    """

    source: str
    fraction: float = 0.0
    closest: str = ""
    example: str = ""
    similarity: float = 0.0
    similar: str = ""

    @property
    def most(self) -> float:
        """The larger of both measures."""
        return max(self.fraction, self.similarity)

    @property
    def is_reported(self) -> bool:
        """Whether the program shares so much that a person should look at it."""
        return self.most >= THRESHOLD


@dataclass(frozen=True, slots=True)
class CheckedProgram:
    """A submitted program of a session with its overlap with each source; none for one that has no n-gram."""

    session: str
    submitted: SubmittedProgram
    overlaps: tuple[Overlap, ...]


def check_sessions(
    sessions: Iterable[SessionTexts], languages: Mapping[str, Language], names: Sequence[str]
) -> Iterator[CheckedProgram]:
    """The programs of the sessions called `names`, checked in the order of `sessions`, which are all in one language.

    Programs that solved a problem are what later sessions are checked against.
    """
    earlier = _Source(EARLIER)
    for session in sessions:
        if session.row.name in names:
            yield from _check(session, languages.get(session.row.language), earlier)
        for text in session.solutions():
            earlier.add(text)


def _check(session: SessionTexts, language: Language | None, earlier: _Source) -> Iterator[CheckedProgram]:
    shown = {name: _Source(name) for name in SOURCES if name != EARLIER}
    for text in session.shown(language):
        shown[text.source].add(text)
    for submitted in session.programs:
        grams = program_ngrams(submitted.program)
        sources = (*shown.values(), earlier) if grams else ()
        overlaps = tuple(source.overlap(grams, submitted.problem.id) for source in sources)
        yield CheckedProgram(session.row.name, submitted, overlaps)


class _Source:
    """The texts of a source: their n-grams of either size, and for each size an index by similarity."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._texts = defaultdict[str, list[tuple[str, frozenset[str]]]](list)
        self._indexes = {size: MinHashIndex(THRESHOLD) for size in (WORDS, SYMBOLS)}
        self._names = dict[int, list[str]]((size, []) for size in (WORDS, SYMBOLS))

    def add(self, text: ShownText) -> None:
        """Add a text, unless it is too short for an n-gram."""
        units = program_units(text.text)
        for size, index in self._indexes.items():
            if grams := frozenset(joined_ngrams(units, size)):
                self._texts[text.problem].append((text.name, grams))
                index.add(grams)
                self._names[size].append(text.name)

    def overlap(self, grams: Sequence[str], problem: str) -> Overlap:
        """What a program for `problem` shares with the texts that are for it or for none, and the most similar of all.

        A program for another problem is shared by all that a player wrote with the same generator.
        """
        place, similarity = self._indexes[_size(grams[0])].closest(frozenset(grams)) or (-1, 0.0)
        similar = self._names[_size(grams[0])][place] if place >= 0 else ""
        texts = [*self._texts[""], *self._texts[problem]]
        counted = [(sum(gram in known for gram in grams), -number) for number, (_, known) in enumerate(texts)]
        count, number = max(counted, default=(0, 0))
        if not count:
            return Overlap(self._name, similarity=similarity, similar=similar)
        closest, known = texts[-number]
        example = next(gram for gram in grams if gram in known)
        return Overlap(self._name, count / len(grams), closest, example, similarity, similar)


def program_ngrams(program: str) -> list[str]:
    """The n-grams of a program in order: of 8 units if at least half of them are words, else of 20."""
    units = program_units(program)
    are_words = 2 * sum(_is_word(unit) for unit in units) >= len(units)
    return joined_ngrams(units, WORDS if are_words else SYMBOLS)


def _size(gram: str) -> int:
    return gram.count(" ") + 1


def program_units(text: str) -> list[str]:
    """The words of `text`, and runs of other characters with their length; white space separates them.

    Of a text that is nearly all white space, such as a program in Whitespace, the runs of white space.
    """
    text = text[:MAX_CHARS]
    is_white = len("".join(text.split())) < (1 - _MOST_WHITE) * len(text)
    return [_unit(match[0]) for match in (_WHITE_SPACE if is_white else _UNIT).finditer(text)]


def _unit(text: str) -> str:
    """A word in lower case, or the run of a character as `+3`; `/S` is a space."""
    if _is_word(text):
        return text.lower()
    name = f"/{_NAMES[text[0]]}" if text[0] in _NAMES else text[0]
    return name if len(text) == 1 else f"{name}{len(text)}"


def _is_word(unit: str) -> bool:
    return unit[0].isalnum() or unit[0] == "_"

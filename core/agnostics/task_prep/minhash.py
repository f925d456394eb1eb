"""MinHash LSH: texts of which much is alike, even where no eight words in a row are.

The test of the Code World Model report (sections 5.3.2 and 15): short texts are taken apart into characters, long ones
into words. It tells no figures, so these are ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from agnostics.types.errors import MissingRequirement

if TYPE_CHECKING:
    from datasketch import MinHash, MinHashLSH

LONG = 50
"""Words from which on a text is long."""
CHARACTERS, WORDS = 5, 3
"""The length of a shingle of a short text, and of a long one."""
PERMUTATIONS = 128
_WEIGHTS = (0.1, 0.9)  # of false finds, which the exact similarity sorts out, and of misses, which nothing mends
_WORD = re.compile(r"\w+")


def is_long(text: str) -> bool:
    """Whether `text` is compared by words."""
    return len(_WORD.findall(text)) >= LONG


def shingles(text: str, *, by_words: bool) -> frozenset[str]:
    """The runs of words, or of characters, in `text`; case, punctuation and white space do not count."""
    words = _WORD.findall(text.lower())
    units: Sequence[str] = words if by_words else " ".join(words)
    size, between = (WORDS, " ") if by_words else (CHARACTERS, "")
    return frozenset(between.join(units[start : start + size]) for start in range(max(1, len(units) - size + 1)))


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """The share of shingles that two texts have in common, among those of either."""
    return len(one & other) / len(one | other)


class SimilarityIndex:
    """Texts to be found by their likeness, known by their place. Raises MissingRequirement without `datasketch`.

    `threshold` is the Jaccard similarity from which on texts are alike: LSH finds candidates, the shingles decide.
    """

    def __init__(self, texts: Iterable[str], threshold: float) -> None:
        self._threshold = threshold
        texts = list(texts)
        self._shingles = {by_words: [shingles(text, by_words=by_words) for text in texts] for by_words in (False, True)}
        self._tables = {by_words: _table(found, threshold) for by_words, found in self._shingles.items()}

    def closest(self, text: str) -> tuple[int, float] | None:
        """The most similar text, the first among equals, with its Jaccard similarity; None where none is alike."""
        by_words = is_long(text)
        wanted = shingles(text, by_words=by_words)
        places = self._tables[by_words].query(_minhash(wanted))
        found = [(jaccard(wanted, self._shingles[by_words][place]), -place) for place in places]
        similarity, place = max(found, default=(0.0, 0))
        return (-place, similarity) if similarity >= self._threshold else None


def _table(found: Sequence[frozenset[str]], threshold: float) -> MinHashLSH:
    try:
        from datasketch import MinHashLSH
    except ModuleNotFoundError as error:
        raise MissingRequirement(
            f"{error.name} is not installed; run: pip install 'agnostics[decontaminate]'"
        ) from error
    table = MinHashLSH(threshold=threshold, num_perm=PERMUTATIONS, weights=_WEIGHTS)
    for place, one in enumerate(found):
        table.insert(place, _minhash(one))
    return table


def _minhash(found: frozenset[str]) -> MinHash:
    from datasketch import MinHash

    made = MinHash(num_perm=PERMUTATIONS, seed=1)
    made.update_batch([shingle.encode(errors="replace") for shingle in found])
    return made

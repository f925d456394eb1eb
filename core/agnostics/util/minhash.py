"""MinHash LSH: similar texts, even if they share no eight words in a row.

The test of the Code World Model report (sections 5.3.2 and 15): shingles of characters for short texts, of words for
long ones. The report gives no parameters; these are ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from agnostics.types.errors import MissingRequirement

if TYPE_CHECKING:
    from datasketch import MinHash

LONG_WORDS = 50
"""The number of words from which on a text is long."""
CHARACTERS, WORDS = 5, 3
"""The length of a shingle of a short text, and of a long one."""
PERMUTATIONS = 128
_WEIGHTS = (0.1, 0.9)  # of false positives, which the exact similarity corrects, and of false negatives
_WORD = re.compile(r"\w+")


def is_long(text: str) -> bool:
    """True if `text` is compared by words."""
    return len(_WORD.findall(text)) >= LONG_WORDS


def shingles(text: str, *, by_words: bool) -> frozenset[str]:
    """The n-grams of words or of characters in `text`, without case, punctuation and white space."""
    words = _WORD.findall(text.lower())
    units: Sequence[str] = words if by_words else " ".join(words)
    size, separator = (WORDS, " ") if by_words else (CHARACTERS, "")
    return frozenset(separator.join(units[start : start + size]) for start in range(max(1, len(units) - size + 1)))


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """The Jaccard similarity of two sets of shingles."""
    return len(one & other) / len(one | other)


class MinHashIndex:
    """Sets of shingles, found by similarity and named by their place: the order in which they were added.

    `threshold` is the least Jaccard similarity: LSH finds candidates, the exact similarity decides. Raises
    MissingRequirement without `datasketch`.
    """

    def __init__(self, threshold: float) -> None:
        try:
            from datasketch import MinHashLSH
        except ModuleNotFoundError as error:
            raise MissingRequirement(
                f"{error.name} is not installed; run: pip install 'agnostics[decontaminate]'"
            ) from error
        self._threshold = threshold
        self._sets = list[frozenset[str]]()
        self._table: MinHashLSH = MinHashLSH(threshold=threshold, num_perm=PERMUTATIONS, weights=_WEIGHTS)

    def add(self, shingles: frozenset[str]) -> None:
        """Add a set at the next place."""
        self._table.insert(len(self._sets), _minhash(shingles))
        self._sets.append(shingles)

    def closest(self, wanted: frozenset[str]) -> tuple[int, float] | None:
        """The most similar set, the first among equals, with its Jaccard similarity; None below the threshold."""
        scored = [(jaccard(wanted, self._sets[place]), -place) for place in self._table.query(_minhash(wanted))]
        similarity, place = max(scored, default=(0.0, 0))
        return (-place, similarity) if similarity >= self._threshold else None


class SimilarityIndex:
    """An index of texts by similarity, in which a text is identified by its position; see `MinHashIndex`."""

    def __init__(self, texts: Iterable[str], threshold: float) -> None:
        self._indexes = {by_words: MinHashIndex(threshold) for by_words in (False, True)}
        for text in texts:
            for by_words, index in self._indexes.items():
                index.add(shingles(text, by_words=by_words))

    def closest(self, text: str) -> tuple[int, float] | None:
        """The most similar text, the first among equals, with its Jaccard similarity; None below the threshold."""
        by_words = is_long(text)
        return self._indexes[by_words].closest(shingles(text, by_words=by_words))


def _minhash(wanted: frozenset[str]) -> MinHash:
    from datasketch import MinHash

    signature = MinHash(num_perm=PERMUTATIONS, seed=1)
    signature.update_batch([shingle.encode(errors="replace") for shingle in wanted])
    return signature

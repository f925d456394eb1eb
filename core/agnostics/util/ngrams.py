"""8-gram overlap: a text that shares eight words in a row with a benchmark is contaminated.

The test applied to the source of Ag-Codeforces-X (Appendix B), as in open-r1's `scripts/decontaminate.py`: lower case,
words split at white space, one shared 8-gram is enough.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

WORDS = 8


def ngrams(text: str, size: int = WORDS) -> list[str]:
    """The n-grams of `size` words of `text` in order; none if it has fewer words."""
    return joined_ngrams(text.lower().split(), size)


def joined_ngrams(words: Sequence[str], size: int = WORDS) -> list[str]:
    """The n-grams of `size` of `words`, each with spaces between them, in order; none if there are fewer words."""
    return [" ".join(words[start : start + size]) for start in range(len(words) - size + 1)]


class NgramIndex:
    """An index from 8-grams to texts, which are identified by their positions."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._places = defaultdict[str, set[int]](set)
        for place, text in enumerate(texts):
            for gram in ngrams(text):
                self._places[gram].add(place)

    def closest(self, text: str) -> tuple[int, str] | None:
        """The text that shares most 8-grams with `text`, the first among equals, and the first shared 8-gram."""
        shared = [gram for gram in dict.fromkeys(ngrams(text)) if gram in self._places]
        if not shared:
            return None
        counts = Counter(place for gram in shared for place in self._places[gram])
        best = min(counts, key=lambda place: (-counts[place], place))
        return best, next(gram for gram in shared if best in self._places[gram])

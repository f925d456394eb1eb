"""Which training tasks a benchmark gives away: each is held against every benchmark by 8-grams and by MinHash."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from agnostics.task_prep.minhash import SimilarityIndex
from agnostics.task_prep.ngrams import NgramIndex

TESTS = ("8-gram", "minhash")


@dataclass(frozen=True, slots=True)
class Document:
    """A task as it is compared: its id, what it asks for, and the lines of JSON that it is written as."""

    id: str
    text: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Match:
    """A task of a benchmark that is too much like a training task: by the words they share, or by their similarity."""

    task: str
    against: str
    match: str
    test: Literal["8-gram", "minhash"]
    shared: str | None = None
    similarity: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """The match as JSON, without what its test does not tell."""
        return {name: value for name, value in asdict(self).items() if value is not None}


class Benchmark:
    """The tasks of a benchmark, ready to be compared with; `similarity` is the least that counts."""

    def __init__(self, name: str, documents: Iterable[Document], similarity: float) -> None:
        self.name, self._documents = name, list(documents)
        texts = [document.text for document in self._documents]
        self._ngrams, self._similar = NgramIndex(texts), SimilarityIndex(texts, similarity)

    def __len__(self) -> int:
        return len(self._documents)

    def matches(self, document: Document) -> Iterator[Match]:
        """The closest task by each test that finds one."""
        if by_words := self._ngrams.closest(document.text):
            place, shared = by_words
            yield Match(document.id, self.name, self._documents[place].id, "8-gram", shared=shared)
        if by_likeness := self._similar.closest(document.text):
            place, similarity = by_likeness
            yield Match(document.id, self.name, self._documents[place].id, "minhash", similarity=round(similarity, 4))


def judged(documents: Iterable[Document], benchmarks: Sequence[Benchmark]) -> Iterator[tuple[Document, list[Match]]]:
    """Each of `documents` with its matches, as they come; those without any may be trained on."""
    for document in documents:
        yield document, [match for benchmark in benchmarks for match in benchmark.matches(document)]

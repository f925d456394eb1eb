"""Decontamination: training tasks that match a task of a benchmark, by 8-gram overlap or by MinHash."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from agnostics.util.minhash import SimilarityIndex
from agnostics.util.ngrams import NgramIndex

TESTS = ("8-gram", "minhash")


@dataclass(frozen=True, slots=True)
class TaskDocument:
    """A task as a document to compare: its id, its statement, and the lines of JSON that it is written as."""

    id: str
    text: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ContaminationMatch:
    """A training task and the task of a benchmark that it matches, by shared words or by similarity."""

    task: str
    against: str
    match: str
    test: Literal["8-gram", "minhash"]
    shared: str | None = None
    similarity: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """The match as JSON, without the fields that its test does not set."""
        return {name: value for name, value in asdict(self).items() if value is not None}


class BenchmarkIndex:
    """The indexed tasks of a benchmark; `similarity` is the least Jaccard similarity of a match."""

    def __init__(self, name: str, documents: Iterable[TaskDocument], similarity: float) -> None:
        self.name, self._documents = name, list(documents)
        texts = [document.text for document in self._documents]
        self._ngrams, self._similarity = NgramIndex(texts), SimilarityIndex(texts, similarity)

    def __len__(self) -> int:
        return len(self._documents)

    def matches(self, document: TaskDocument) -> Iterator[ContaminationMatch]:
        """The closest task by each test that matches one."""
        if overlap := self._ngrams.closest(document.text):
            place, shared = overlap
            yield ContaminationMatch(document.id, self.name, self._documents[place].id, "8-gram", shared=shared)
        if similar := self._similarity.closest(document.text):
            place, similarity = similar
            yield ContaminationMatch(
                document.id, self.name, self._documents[place].id, "minhash", similarity=round(similarity, 4)
            )


def find_matches(
    documents: Iterable[TaskDocument], benchmarks: Sequence[BenchmarkIndex]
) -> Iterator[tuple[TaskDocument, list[ContaminationMatch]]]:
    """Each of `documents` with its matches, lazily; those without any may be trained on."""
    for document in documents:
        yield document, [match for benchmark in benchmarks for match in benchmark.matches(document)]

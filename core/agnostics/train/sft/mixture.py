"""The mixture of sources: the order in which their documents are read, and the documents of each step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from random import Random

from agnostics.train.sft.config import SourceConfig
from agnostics.train.sft.documents import Document


@dataclass(frozen=True, slots=True)
class SftSource:
    """The documents of the `examples` of a file, `left_out` of which are too long."""

    config: SourceConfig
    documents: Sequence[Document]
    examples: int
    left_out: int = 0

    @property
    def tokens(self) -> int:
        """Tokens of all documents together."""
        return sum(map(len, self.documents))


Draw = tuple[int, Document]
"""A document and the number of its source."""


@dataclass(frozen=True, slots=True)
class Mixture:
    """Documents of several sources in one order, which the seed and the sources alone decide.

    The next document is of the source that is furthest behind its target, so that every part of the run has the same
    mixture. A source that is read again has another order each time.
    """

    sources: Sequence[SftSource]
    batch_tokens: int
    seed: int
    targets: Sequence[float] = field(init=False)
    """The tokens that each source gives to a run of the default length."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "targets", _targets(self.sources))

    @property
    def steps(self) -> int:
        """The steps after which every source has reached its target."""
        return sum(1 for _ in self._batches(repeat=False))

    def steps_of(self, tokens: int) -> int:
        """The steps after which `tokens` tokens are read; sources are read again if they have fewer."""
        for step, batch in enumerate(self._batches(repeat=True), start=1):  # noqa: B007
            tokens -= sum(len(document) for _, document in batch)
            if tokens <= 0:
                break
        return step

    def first_batches(self, steps: int) -> Iterator[list[Draw]]:
        """The documents of each of `steps` steps; sources are read again if these are more than the default."""
        return islice(self._batches(repeat=steps > self.steps), steps)

    def _batches(self, *, repeat: bool) -> Iterator[list[Draw]]:
        """At most `batch_tokens` tokens or one document each; without `repeat`, up to the targets."""
        batch, tokens = list[Draw](), 0
        for draw in self._draws(repeat=repeat):
            if batch and tokens + len(draw[1]) > self.batch_tokens:
                yield batch
                batch, tokens = [], 0
            batch.append(draw)
            tokens += len(draw[1])
        yield batch

    def _draws(self, *, repeat: bool) -> Iterator[Draw]:
        orders = [self._order(number) for number in range(len(self.sources))]
        drawn = [0] * len(self.sources)
        while True:
            progress = [tokens / target for tokens, target in zip(drawn, self.targets, strict=True)]
            behind = min(range(len(progress)), key=progress.__getitem__)
            if progress[behind] >= 1 and not repeat:
                return
            document = next(orders[behind])
            drawn[behind] += len(document)
            yield behind, document

    def _order(self, number: int) -> Iterator[Document]:
        documents = self.sources[number].documents
        for epoch in count():
            order = list(range(len(documents)))
            Random(f"{self.seed}/{number}/{epoch}").shuffle(order)
            yield from (documents[place] for place in order)


def _targets(sources: Sequence[SftSource]) -> list[float]:
    """Tokens by epochs; by weights the tokens of one epoch of all, divided; rehearsal its share of the sum."""
    trained = [source for source in sources if source.config.rehearsal is None]
    every, weights = sum(source.tokens for source in trained), sum(source.config.weight or 0.0 for source in trained)
    total = every if weights else sum(source.tokens * (source.config.epochs or 1.0) for source in trained)
    total /= 1 - sum(source.config.rehearsal or 0.0 for source in sources)

    def target(source: SftSource) -> float:
        config = source.config
        if config.rehearsal is not None:
            return config.rehearsal * total
        return every * config.weight / weights if config.weight else source.tokens * (config.epochs or 1.0)

    return [target(source) for source in sources]

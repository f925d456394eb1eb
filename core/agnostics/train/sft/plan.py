"""The plan of a run of supervised fine-tuning: what each source gives to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from agnostics.plugins.manager import PluginManager
from agnostics.train.sft.config import SftConfig
from agnostics.train.sft.mixture import Mixture, SftSource
from agnostics.train.sft.setup import prepare


@dataclass(frozen=True, slots=True)
class SourcePlan:
    """A source: its file once, and its part of the run: the times it is read, and its share of all tokens."""

    file: str
    examples: int
    left_out: int
    documents: int
    tokens: int
    trained_tokens: int
    epochs: float
    share: float


@dataclass(frozen=True, slots=True)
class SftPlan:
    """The sources of a run, and its number of steps."""

    sources: list[SourcePlan]
    steps: int

    def as_dict(self) -> dict[str, Any]:
        """The plan as JSON."""
        return asdict(self)


def plan(config: SftConfig, plugins: PluginManager, say: Callable[[str], None]) -> SftPlan:
    """The plan of a run; its model is resolved and its data are read. Raises as `prepare`."""
    inputs = prepare(config, plugins, say)
    mixture = inputs.mixture
    drawn = [0] * len(mixture.sources)
    for draws in mixture.first_batches(inputs.steps):
        for source, document in draws:
            drawn[source] += len(document)
    sources = [_source(mixture, number, drawn) for number in range(len(drawn))]
    return SftPlan(sources, inputs.steps)


def _source(mixture: Mixture, number: int, drawn: list[int]) -> SourcePlan:
    source: SftSource = mixture.sources[number]
    return SourcePlan(
        file=source.config.path,
        examples=source.examples,
        left_out=source.left_out,
        documents=len(source.documents),
        tokens=source.tokens,
        trained_tokens=sum(document.num_trained for document in source.documents),
        epochs=drawn[number] / source.tokens,
        share=drawn[number] / sum(drawn),
    )

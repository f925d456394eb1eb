"""Metrics of a step of supervised fine-tuning, by name, as they are stored and shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agnostics.models.flop import TrainingFlop
from agnostics.train.sft.documents import Document
from agnostics.train.sft.mixture import Draw, SftSource

if TYPE_CHECKING:
    from agnostics.train.sft.policy import SftStats

SFT_METRICS = {
    "loss": "mean of -log p over the trained tokens, in nats, before the update",
    "learning_rate": "the learning rate",
    "grad_norm": "norm of the gradient before clipping",
    "documents": "documents: examples, or pieces of texts",
    "rows": "rows that the documents were packed into",
    "tokens": "tokens of prompts and completions",
    "trained_tokens": "tokens in the loss",
    "flop": "floating point operations: 6 per token and parameter, and those of attention",
    "rehearsal_fraction": "share of the tokens that are of rehearsal sources",
    "tokens_per_s": "tokens per second of the step",
    "step_s": "seconds that the step took",
}
"""Descriptions of the metrics of a step by name."""
VALIDATION_LOSS = "loss"
"""The metric of a validation; the results database has it as `eval_during_loss`, loggers as `validation/loss`."""


def describe_sft_metric(name: str) -> str:
    """The description of a metric by the name that loggers get (`train/loss`); empty for an unknown one."""
    if name == f"validation/{VALIDATION_LOSS}":
        return "mean of -log p over the trained tokens of the validation examples, in nats, after the update"
    return SFT_METRICS.get(name.removeprefix("train/"), "")


def sft_metrics(
    stats: SftStats,
    draws: Sequence[Draw],
    rows: Sequence[Sequence[Document]],
    sources: Sequence[SftSource],
    cost: TrainingFlop,
) -> dict[str, float]:
    """Metrics of an update on `rows`, which hold the documents of `draws`."""
    tokens = sum(len(document) for _, document in draws)
    rehearsed = sum(len(document) for source, document in draws if sources[source].config.rehearsal is not None)
    return {
        "loss": stats.loss,
        "grad_norm": stats.grad_norm,
        "documents": len(draws),
        "rows": len(rows),
        "tokens": tokens,
        "trained_tokens": sum(document.num_trained for _, document in draws),
        "flop": sum(cost.of_document(len(document)) for _, document in draws),
        "rehearsal_fraction": rehearsed / tokens,
    }

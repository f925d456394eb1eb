"""The model card of a training run: what was trained, how, and what was measured."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from agnostics.cli.eval_report import describe_difference
from agnostics.cli.report import RunReport
from agnostics.train.config import RunConfig, to_toml
from agnostics.types.language import Language
from agnostics.types.task import Task, Test
from agnostics.util.text import plural

_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")
_NO_TESTS = (Test(input="", output=""),)
_OF_THIS_MACHINE = {"store": None, "output": None, "loggers": ()}
"""Settings that say nothing about the model."""


def model_card(report: RunReport, config: RunConfig, language: Language, title: str, step: int) -> str:
    """The card of the checkpoint of `step`, in Markdown, with the hub's metadata at its top.

    Of paths on this machine it has the last part alone.
    """
    start = _base_model(config.model)
    metadata = ["library_name: transformers", "pipeline_tag: text-generation"]
    if start == config.model and start != "starter":
        metadata.append(f"base_model: {start}")
    metadata.append(f"tags: {json.dumps(['agnostics', config.algorithm, language.name])}")
    parts = (
        *("---", *metadata, "---", f"# {title}\n"),
        _introduction(report, config, language, start, step),
        *("## Held-out tasks\n", *_scores(report, config)),
        *("## Use\n", "The user's message in training, which the model expects:\n"),
        _fenced(config.chat.message(language, Task(id="", statement="{statement}", tests=_NO_TESTS)), ""),
        "\nWhat the model writes is not safe to run: use a sandbox, such as `agn verify`.\n",
        *("## Settings\n", _fenced(_settings(config), "toml")),
    )
    return "\n".join(parts) + "\n"


def _introduction(report: RunReport, config: RunConfig, language: Language, start: str, step: int) -> str:
    package = f"[Agnostics](https://pypi.org/project/agnostics/) {version('agnostics')}"
    sentences = (
        f"`{start}`, trained to write {language.name} by reinforcement learning ({config.algorithm}) on the verdicts",
        f"of its own programs, with {package}. A program is judged by what it prints for the inputs of its task; the",
        f"reward is `{_last_part(config.reward)}`, the tasks are those of `{_last_part(config.dataset)}`.",
        f"This is the checkpoint of step {step} of {report.run.steps}; the run sampled and verified",
        f"{plural(report.run.completions, 'program')}, evaluations included.\n",
    )
    return " ".join(sentences)


def _scores(report: RunReport, config: RunConfig) -> Iterator[str]:
    if not report.scores:
        yield "The run was not evaluated.\n"
        return
    yield "| | pass@1 | 95 % interval | tasks |\n|---|---|---|---|"
    for score in report.scores:
        low, high = score.interval
        when = {"eval_before": "before training", "eval_after": "after the last step"}.get(score.phase, score.phase)
        yield f"| {when} | {score.pass_at_1:.3f} | {low:.3f} to {high:.3f} | {score.tasks} |"
    if report.gain:
        yield f"\nAfter less before, by task: {describe_difference(report.gain)}."
    samples = plural(config.evaluation.samples, "completion")
    yield (
        f"\nSampled at temperature {config.evaluation.temperature:g}, {samples} of each task, at most "
        f"{config.rollout.max_completion_tokens} tokens each. None of the tasks was trained on.\n"
    )


def _fenced(text: str, kind: str) -> str:
    """A code block with more backticks than `text` has in a row."""
    fence = "`" * max([3, *(1 + len(run) for run in re.findall("`+", text))])
    return f"{fence}{kind}\n{text.rstrip()}\n{fence}"


def _settings(config: RunConfig) -> str:
    """The run's settings without those of this machine."""
    local = {"model": _base_model(config.model)}
    local |= {key: _last_part(getattr(config, key)) for key in ("language", "dataset", "reward")}
    return to_toml(config.model_copy(update={**_OF_THIS_MACHINE, **local}))


def _base_model(name: str) -> str:
    return name if _HUB_NAME.fullmatch(name) and not Path(name).exists() else Path(name).name


def _last_part(name: str) -> str:
    """A name as it is, and of a path the last part; `adapter:path` and `path:NAME` keep their other half."""
    return re.sub(r"[^:]*/", "", name)

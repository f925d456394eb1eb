"""The starting point of the starter model: pass@1 on held-out tasks, verified in the sandbox."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agnostics.inference.engine import EngineSettings, SamplingParams
from agnostics.inference.provider import open_engine
from agnostics.models.loading import load_tokenizer, stop_ids
from agnostics.rollout.collector import open_collector
from agnostics.rollout.pass_rate import pass_rate
from agnostics.rollout.prompts import ChatSettings, render_prompt
from agnostics.sandbox.modes import Backends
from agnostics.types.errors import AgnosticsError
from agnostics.types.language import Language
from agnostics.types.task import Task
from agnostics.verify import Verifier

TEMPERATURE = 0.7
MAX_COMPLETION_TOKENS = 384


def pass_at_1(
    folder: Path,
    language: Language,
    tasks: Sequence[Task],
    samples: int,
    sandbox: str,
    backends: Backends | None,
) -> float:
    """The share of accepted programs among `samples` completions of each task, at temperature 0.7.

    Raises AgnosticsError if the sandbox verified none of them.
    """
    tokenizer = load_tokenizer(folder)
    prompts = [render_prompt(tokenizer, language, task, ChatSettings()) for task in tasks]
    max_length = max(len(prompt.token_ids) for prompt in prompts) + MAX_COMPLETION_TOKENS
    settings = EngineSettings(folder, stop_ids(folder, tokenizer), max_length=max_length, max_num_seqs=256)
    params = SamplingParams(TEMPERATURE, MAX_COMPLETION_TOKENS)
    with (
        Verifier(sandbox, backends=backends) as verifier,
        open_engine("transformers", settings) as engine,
        open_collector(engine, tokenizer, language, verifier) as collector,
    ):
        batch = collector.collect(prompts, samples, params, seed="starter")
    rate = pass_rate(batch.groups, seed=0)
    if rate is None:
        raise AgnosticsError("the sandbox verified no program of the starter model; run: agn doctor")
    return rate.pass_at_1

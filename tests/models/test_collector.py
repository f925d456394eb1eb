"""Rollouts of tasks with a real engine and a real sandbox."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
from agnostics.inference.engine import EngineSettings, SamplingParams
from agnostics.inference.provider import open_engine
from agnostics.rollout.collector import open_collector
from agnostics.rollout.prompts import ChatSettings, render_prompt
from agnostics.types.language import Language
from agnostics.verify import Verifier
from agnostics_datasets.starter import Starter

pytestmark = pytest.mark.slow

SAMPLES = 8


def test_a_program_that_several_completions_of_a_group_hold_runs_once(
    starter_model: Path, languages: dict[str, Language]
) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(starter_model)
    prompts = [
        render_prompt(tokenizer, languages["lua"], task, ChatSettings()) for task in islice(Starter().tasks("train"), 3)
    ]
    settings = EngineSettings(starter_model, (tokenizer.eos_token_id,), max_length=1024, max_num_seqs=24)
    with (
        Verifier("bubblewrap", 2) as verifier,
        open_engine("transformers", settings) as engine,
        open_collector(engine, tokenizer, languages["lua"], verifier) as collector,
    ):
        params = SamplingParams(temperature=0.5, max_completion_tokens=96)
        groups = collector.collect(prompts, SAMPLES, params, "seed").groups
        spans, _ = collector.verifier.spans.close_window()
    run = [span for span in spans if span.track == "verification"]
    programs = [{rollout.verified.program for rollout in group} for group in groups]
    assert len(run) == sum(map(len, programs)) < SAMPLES * len(prompts)
    for prompt, group in zip(prompts, groups, strict=True):
        for rollout in group:
            own = languages["lua"].program_for(prompt.task, rollout.text)
            assert (rollout.verified.task_id, rollout.verified.program) == (prompt.task.id, own)
        assert [rollout.turns[0].computed_prompt_tokens for rollout in group] == [len(prompt.token_ids)] + [0] * 7

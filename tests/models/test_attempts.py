"""Attempts at tasks with a real engine and a real sandbox."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
from agnostics.inference.engine import EngineSettings, Sampling, open_engine
from agnostics.rollout.collector import open_workshop
from agnostics.rollout.task_sampler import ask
from agnostics.types.language import Language
from agnostics.verify import Verifier
from agnostics_datasets.starter import Starter

pytestmark = pytest.mark.slow

SAMPLES = 8


def test_a_program_that_several_answers_of_a_group_hold_runs_once(
    starter_model: Path, languages: dict[str, Language]
) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(starter_model)
    questions = [ask(tokenizer, languages["lua"], task) for task in islice(Starter().tasks("train"), 3)]
    settings = EngineSettings(starter_model, (tokenizer.eos_token_id,), max_length=1024, max_num_seqs=24)
    with (
        Verifier("bubblewrap", 2) as verifier,
        open_engine("transformers", settings) as engine,
        open_workshop(engine, tokenizer, languages["lua"], verifier) as workshop,
    ):
        groups = workshop.attempt(
            questions, SAMPLES, Sampling(temperature=0.5, max_completion_tokens=96), "seed"
        ).groups
        spans, _ = workshop.timeline.close_window()
    run = [span for span in spans if span.track == "verification"]
    programs = [{attempt.verification.program for attempt in group} for group in groups]
    assert len(run) == sum(map(len, programs)) < SAMPLES * len(questions)
    for question, group in zip(questions, groups, strict=True):
        for attempt in group:
            own = languages["lua"].program_for(question.task, attempt.text)
            assert (attempt.verification.task_id, attempt.verification.program) == (question.task.id, own)

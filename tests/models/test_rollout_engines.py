"""Both engines sample from the model they were given, token by token, and from the new weights after a sync."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from agnostics.inference.engine import Answer, Engine, EngineSettings, Prompt, Sampling, generate, open_engine
from agnostics.inference.remote.client import EngineProcess
from agnostics.profiling.spans import Timeline
from agnostics.rollout.engine_loop import Sampler
from agnostics.types.errors import AgnosticsError
from agnostics.types.task import PromptFormat
from transformers import AutoModelForCausalLM, AutoTokenizer

pytestmark = pytest.mark.slow

Name = Literal["vllm", "transformers"]
PROMPTS = [Prompt(tuple(range(5, 12 + index % 4)), seed=index) for index in range(12)]
SAMPLING = Sampling(temperature=0.7, max_completion_tokens=24)
STOP = (1,)


def _open(name: Name, folder: Path, stop_ids: tuple[int, ...] = STOP, *, reads: bool = False) -> Engine:
    return open_engine(name, EngineSettings(folder, stop_ids, max_length=256, max_num_seqs=8, reads=reads))


def _answers(engine: Engine, prompts: Sequence[Prompt], sampling: Sampling = SAMPLING) -> list[Answer]:
    ended = dict(generate(engine, prompts, sampling))
    return [ended[index] for index in range(len(prompts))]


@torch.no_grad()
def _disturb(model: Any) -> None:
    generator = torch.Generator().manual_seed(0)
    for weight in model.parameters():
        weight.add_(0.05 * torch.randn(weight.shape, generator=generator))


@torch.no_grad()
def _largest_gap(
    model: Any, prompts: Sequence[Prompt], answers: Sequence[Answer], places: Sequence[int] | None = None
) -> float:
    """Between the engine's log-probabilities and the model's at the sampling temperature; of all tokens, or of some."""
    largest = 0.0
    for prompt, answer in zip(prompts, answers, strict=True):
        logits = model(torch.tensor([prompt.token_ids + answer.token_ids])).logits[0, len(prompt.token_ids) - 1 : -1]
        logprobs = (logits / SAMPLING.temperature).log_softmax(-1).gather(-1, torch.tensor(answer.token_ids)[:, None])
        gaps = (logprobs.squeeze(-1) - torch.tensor(answer.logprobs)).abs().tolist()
        largest = max([largest, *(gaps[place] for place in (range(len(gaps)) if places is None else places))])
    return largest


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
@pytest.mark.parametrize("name", ["vllm", "transformers"])
def test_log_probabilities_are_the_models_before_and_after_new_weights(
    name: Name, tied: bool, tiny_model: Callable[..., Path]
) -> None:
    folder = tiny_model(tied=tied)
    model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    with _open(name, folder) as engine:
        assert _largest_gap(model, PROMPTS, _answers(engine, PROMPTS)) < 1e-4
        _disturb(model)
        engine.load_weights(((name, weight.detach()) for name, weight in model.named_parameters()), version=1)
        answers = _answers(engine, PROMPTS)
        assert _largest_gap(model, PROMPTS, answers) < 1e-4
        assert {version for answer in answers for version in answer.versions} == {1}


@pytest.mark.parametrize("name", ["vllm", "transformers"])
def test_weights_change_in_flight_and_every_token_knows_whose_it_is(
    name: Name, tiny_model: Callable[..., Path]
) -> None:
    folder = tiny_model(tied=False)
    old: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    new: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    _disturb(new)
    with _open(name, folder) as engine:
        for index, prompt in enumerate(PROMPTS):
            engine.add(index, prompt, SAMPLING)
        ended = dict(answer for _ in range(9) for answer in engine.advance())
        engine.load_weights(((name, weight.detach()) for name, weight in new.named_parameters()), version=1)
        while engine.busy:
            ended.update(engine.advance())
    _check_each_version(ended, old, new)


def _check_each_version(ended: dict[int, Answer], old: Any, new: Any) -> None:
    """Each token was sampled from the weights whose version it has, in some answers from both."""
    assert any(set(answer.versions) == {0, 1} for answer in ended.values())
    for index, answer in ended.items():
        assert sorted(answer.versions) == list(answer.versions)
        for version, model in enumerate([old, new]):
            mine = [place for place, other in enumerate(answer.versions) if other == version]
            assert _largest_gap(model, [PROMPTS[index]], [answer], mine) < 1e-4


def test_vllm_in_a_process_of_its_own_takes_new_weights_in_flight_and_its_end_is_one_line(
    tiny_model: Callable[..., Path],
) -> None:
    folder, long = tiny_model(tied=True), replace(SAMPLING, max_completion_tokens=200)
    old: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    new: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    _disturb(old)
    _disturb(new)
    _disturb(new)
    with open_engine(
        "vllm", EngineSettings(folder, STOP, max_length=256, max_num_seqs=8), separate_process=True
    ) as engine:
        engine.load_weights(((name, weight.detach()) for name, weight in old.named_parameters()), version=0)
        for index, prompt in enumerate(PROMPTS):
            engine.add(index, prompt, long)
        ended = dict[int, Answer]()
        while not ended:
            ended.update(engine.advance())
        engine.use_threads(1)
        engine.load_weights(((name, weight.detach()) for name, weight in new.named_parameters()), version=1)
        while engine.busy:
            ended.update(engine.advance())
        _check_each_version(ended, old, new)
        assert isinstance(engine, EngineProcess)
        engine._process.kill()
        with Sampler(engine, Timeline()) as sampler:
            asked = sampler.ask(PROMPTS, SAMPLING, lambda _index, _answer: None)
            with pytest.raises(AgnosticsError, match=r"^the engine's process was killed by signal 9$"):
                asked.result(timeout=60)


@pytest.mark.parametrize("name", ["vllm", "transformers"])
def test_a_seed_gives_the_same_tokens_whatever_is_sampled_beside_it(
    name: Name, tiny_model: Callable[..., Path]
) -> None:
    with _open(name, tiny_model(tied=False)) as engine:
        together = _answers(engine, PROMPTS)
        assert [_answers(engine, [prompt])[0].token_ids for prompt in PROMPTS[:3]] == [
            a.token_ids for a in together[:3]
        ]
        other = _answers(engine, [Prompt(PROMPTS[0].token_ids, seed=99)])[0]
        assert other.token_ids != together[0].token_ids


@pytest.mark.parametrize("name", ["vllm", "transformers"])
def test_an_answer_ends_with_its_stop_token_or_text_or_is_cut_off(name: Name, tiny_model: Callable[..., Path]) -> None:
    stop_ids, folder = tuple(range(0, 768, 8)), tiny_model(tied=False)
    with _open(name, folder, stop_ids, reads=True) as engine:
        answers = _answers(engine, PROMPTS)
        tokenizer = AutoTokenizer.from_pretrained(folder)
        texts = [tokenizer.decode(answer.token_ids, skip_special_tokens=True) for answer in answers]
        longest = max(texts, key=len)
        stitch = PromptFormat(language="lua", tests="", stop=(longest[8:11], longest[12:14]))  # wherever its tokens end
        stopped = _answers(engine, PROMPTS, replace(SAMPLING, stop=stitch.ends))
    for answer in answers:
        assert len(answer.token_ids) == len(answer.logprobs)
        assert not set(answer.token_ids[:-1]) & set(stop_ids)
        if answer.finish_reason == "stop":
            assert answer.token_ids[-1] in stop_ids
        else:
            assert len(answer.token_ids) == SAMPLING.max_completion_tokens
    assert any(len(answer.token_ids) < len(whole.token_ids) for answer, whole in zip(stopped, answers, strict=True))
    for answer, whole, text in zip(stopped, answers, texts, strict=True):
        assert answer.token_ids == whole.token_ids[: len(answer.token_ids)]
        last = tokenizer.decode(answer.token_ids, skip_special_tokens=True)
        before = tokenizer.decode(answer.token_ids[:-1], skip_special_tokens=True)
        assert not any(end in before for end in stitch.ends)
        assert stitch.continued("", last) == stitch.continued("", text)


@pytest.mark.parametrize("name", ["vllm", "transformers"])
def test_an_engine_left_in_the_middle_answers_the_next_batch(name: Name, tiny_model: Callable[..., Path]) -> None:
    with _open(name, tiny_model(tied=False)) as engine:
        expected = _answers(engine, PROMPTS)
        stream = generate(engine, PROMPTS, SAMPLING)
        next(stream)
        stream.close()
        assert [a.token_ids for a in _answers(engine, PROMPTS)] == [a.token_ids for a in expected]

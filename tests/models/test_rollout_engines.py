"""Both engines sample from the model that they load, token by token, and from the new weights after a sync."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from agnostics.inference.engine import (
    Completion,
    CompletionRequest,
    Engine,
    EngineSettings,
    SamplingParams,
    generate,
)
from agnostics.inference.provider import open_engine
from agnostics.inference.remote.client import RemoteEngine
from agnostics.profiling.spans import SpanRecorder
from agnostics.rollout.engine_loop import EngineLoop
from agnostics.types.errors import AgnosticsError
from agnostics.types.task import PromptFormat
from transformers import AutoModelForCausalLM, AutoTokenizer

pytestmark = pytest.mark.slow

Name = Literal["vllm", "transformers"]
REQUESTS = [CompletionRequest(tuple(range(5, 12 + index % 4)), seed=index) for index in range(12)]
PARAMS = SamplingParams(temperature=0.7, max_completion_tokens=24)
STOP = (1,)


def _open(name: Name, folder: Path, stop_ids: tuple[int, ...] = STOP, *, detokenize: bool = False) -> Engine:
    return open_engine(name, EngineSettings(folder, stop_ids, max_length=256, max_num_seqs=8, detokenize=detokenize))


@pytest.fixture(scope="module", params=["vllm", "transformers"])
def engine(request: pytest.FixtureRequest, tiny_model: Callable[..., Path]) -> Iterator[Engine]:
    """An engine that tests share if they leave its weights as they are."""
    with _open(request.param, tiny_model(tied=False)) as made:
        yield made


def _completions(
    engine: Engine, requests: Sequence[CompletionRequest], params: SamplingParams = PARAMS
) -> list[Completion]:
    finished = dict(generate(engine, requests, params))
    return [finished[index] for index in range(len(requests))]


@torch.no_grad()
def _disturb(model: Any) -> None:
    generator = torch.Generator().manual_seed(0)
    for weight in model.parameters():
        weight.add_(0.05 * torch.randn(weight.shape, generator=generator))


@torch.no_grad()
def _largest_mismatch(
    model: Any,
    requests: Sequence[CompletionRequest],
    completions: Sequence[Completion],
    places: Sequence[int] | None = None,
) -> float:
    """The largest distance of the engine's log-probabilities from the model's, of all tokens or of those at `places`.

    Both are at the sampling temperature.
    """
    largest = 0.0
    for request, completion in zip(requests, completions, strict=True):
        prompt, token_ids = request.prompt_ids, completion.token_ids
        logits = model(torch.tensor([prompt + token_ids])).logits[0, len(prompt) - 1 : -1]
        logprobs = (logits / PARAMS.temperature).log_softmax(-1).gather(-1, torch.tensor(token_ids)[:, None])
        distances = (logprobs.squeeze(-1) - torch.tensor(completion.logprobs)).abs().tolist()
        chosen = range(len(distances)) if places is None else places
        largest = max([largest, *(distances[place] for place in chosen)])
    return largest


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
@pytest.mark.parametrize("name", ["vllm", "transformers"])
def test_log_probabilities_are_the_models_before_and_after_new_weights(
    name: Name, tied: bool, tiny_model: Callable[..., Path]
) -> None:
    folder = tiny_model(tied=tied)
    model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    with _open(name, folder) as engine:
        assert _largest_mismatch(model, REQUESTS, _completions(engine, REQUESTS)) < 1e-4
        _disturb(model)
        engine.load_weights(((name, weight.detach()) for name, weight in model.named_parameters()), version=1)
        completions = _completions(engine, REQUESTS)
        assert _largest_mismatch(model, REQUESTS, completions) < 1e-4
        assert {version for completion in completions for version in completion.policy_versions} == {1}


@pytest.mark.parametrize("name", ["vllm", "transformers"])
def test_weights_change_in_flight_and_every_token_has_the_version_that_sampled_it(
    name: Name, tiny_model: Callable[..., Path]
) -> None:
    folder = tiny_model(tied=False)
    old: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    new: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    _disturb(new)
    with _open(name, folder, ()) as engine:
        for index, request in enumerate(REQUESTS):
            engine.add_request(index, request, PARAMS)
        finished = dict(completion for _ in range(9) for completion in engine.step())
        engine.load_weights(((name, weight.detach()) for name, weight in new.named_parameters()), version=1)
        while engine.has_unfinished_requests:
            finished.update(engine.step())
    _check_each_version(finished, old, new)


def _check_each_version(finished: dict[int, Completion], old: Any, new: Any) -> None:
    """Each token was sampled from the weights whose version it has, in some completions from both."""
    assert any(map(_is_mixed, finished.values()))
    for index, completion in finished.items():
        assert sorted(completion.policy_versions) == list(completion.policy_versions)
        for version, model in enumerate([old, new]):
            places = [place for place, other in enumerate(completion.policy_versions) if other == version]
            assert _largest_mismatch(model, [_request(index)], [completion], places) < 1e-4


def _is_mixed(completion: Completion) -> bool:
    return set(completion.policy_versions) == {0, 1}


def _request(index: int) -> CompletionRequest:
    return REQUESTS[index % len(REQUESTS)]


@pytest.mark.parametrize("workers", [1, 2])
def test_vllm_in_processes_of_its_own_takes_new_weights_in_flight_and_its_end_is_one_line(
    workers: int, tiny_model: Callable[..., Path]
) -> None:
    """The engine does not wait for this process: long completions, one after the other, are there for any delay."""
    folder, lengths = tiny_model(tied=True), (5, 40, 150, 500, *(1900,) * 36)
    old: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    new: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    _disturb(old)
    _disturb(new)
    _disturb(new)
    settings = EngineSettings(folder, (), max_length=2000, max_num_seqs=8, tensor_parallel_size=workers)
    with open_engine("vllm", settings, separate_process=True) as engine:
        engine.load_weights(((name, weight.detach()) for name, weight in old.named_parameters()), version=0)
        for index, length in enumerate(lengths):
            engine.add_request(index, _request(index), replace(PARAMS, max_completion_tokens=length))
        finished = dict[int, Completion]()
        while not finished:
            finished.update(engine.step())
        engine.set_num_threads(1)
        engine.load_weights(((name, weight.detach()) for name, weight in new.named_parameters()), version=1)
        while engine.has_unfinished_requests and not any(map(_is_mixed, finished.values())):
            finished.update(engine.step())
        engine.abort_all()
        _check_each_version(finished, old, new)
        assert isinstance(engine, RemoteEngine)
        engine._process.kill()
        with EngineLoop(engine, SpanRecorder()) as loop:
            done = loop.submit(REQUESTS, PARAMS, lambda _index, _completion: None)
            with pytest.raises(AgnosticsError, match=r"^the engine's process was killed by signal 9$"):
                done.result(timeout=60)


def test_a_seed_gives_the_same_tokens_whatever_is_sampled_beside_it(engine: Engine) -> None:
    together = _completions(engine, REQUESTS)
    assert [_completions(engine, [request])[0].token_ids for request in REQUESTS[:3]] == [
        completion.token_ids for completion in together[:3]
    ]
    other = _completions(engine, [CompletionRequest(REQUESTS[0].prompt_ids, seed=99)])[0]
    assert other.token_ids != together[0].token_ids


def test_a_completion_says_how_many_tokens_of_its_prompt_were_in_the_cache(engine: Engine) -> None:
    engine.abort_all()
    engine.add_request(0, CompletionRequest(tuple(range(100, 200)), seed=0, may_be_continued=True), PARAMS)
    first = _next_finished(engine)
    conversation = (*range(100, 200), *first.token_ids, 5, 6)
    engine.add_request(1, CompletionRequest(conversation, seed=1), PARAMS)
    known = len(conversation) - 3  # the last sampled token was never read
    assert first.num_cached_tokens == 0
    assert known - 32 < _next_finished(engine).num_cached_tokens <= known  # vLLM caches blocks of 32


def _next_finished(engine: Engine) -> Completion:
    ((_, completion),) = next(filter(None, (engine.step() for _ in range(PARAMS.max_completion_tokens))))
    return completion


@pytest.mark.parametrize("name", ["vllm", "transformers"])
def test_a_completion_ends_with_its_stop_token_or_text_or_is_truncated(
    name: Name, tiny_model: Callable[..., Path]
) -> None:
    stop_ids, folder = tuple(range(0, 768, 8)), tiny_model(tied=False)
    with _open(name, folder, stop_ids, detokenize=True) as engine:
        completions = _completions(engine, REQUESTS)
        tokenizer = AutoTokenizer.from_pretrained(folder)
        texts = [tokenizer.decode(completion.token_ids, skip_special_tokens=True) for completion in completions]
        longest = max(texts, key=len)
        ends = (longest[8:11], longest[12:14])  # wherever its tokens end
        prompt_format = PromptFormat(language="lua", tests="", stop=ends)
        stopped = _completions(engine, REQUESTS, replace(PARAMS, stop=prompt_format.ends))
    for completion in completions:
        assert len(completion.token_ids) == len(completion.logprobs)
        assert not set(completion.token_ids[:-1]) & set(stop_ids)
        if completion.finish_reason == "stop":
            assert completion.token_ids[-1] in stop_ids
        else:
            assert len(completion.token_ids) == PARAMS.max_completion_tokens
    assert any(
        len(completion.token_ids) < len(whole.token_ids) for completion, whole in zip(stopped, completions, strict=True)
    )
    for completion, whole, text in zip(stopped, completions, texts, strict=True):
        assert completion.token_ids == whole.token_ids[: len(completion.token_ids)]
        last = tokenizer.decode(completion.token_ids, skip_special_tokens=True)
        before = tokenizer.decode(completion.token_ids[:-1], skip_special_tokens=True)
        assert not any(end in before for end in prompt_format.ends)
        assert prompt_format.continued("", last) == prompt_format.continued("", text)


def test_vllm_frees_its_model_and_leaves_frozen_what_was_imported_before(tiny_model: Callable[..., Path]) -> None:
    folder, before = tiny_model(tied=False), {id(model) for model in _served_models()}
    with _open("vllm", folder) as engine:
        _completions(engine, REQUESTS[:1])
        frozen = gc.get_freeze_count()
        (model,) = (weakref.ref(model) for model in _served_models() if id(model) not in before)
    del engine
    gc.collect()
    assert model() is None
    assert gc.get_freeze_count() == frozen > 100_000


def _served_models() -> list[Any]:
    """The models of all instances of vLLM in this process."""
    return [
        one for one in gc.get_objects() if type(one).__name__ == "Qwen3ForCausalLM" and "vllm" in type(one).__module__
    ]


def test_an_engine_left_in_the_middle_completes_the_next_batch(engine: Engine) -> None:
    expected = _completions(engine, REQUESTS)
    stream = generate(engine, REQUESTS, PARAMS)
    next(stream)
    stream.close()
    assert [completion.token_ids for completion in _completions(engine, REQUESTS)] == [
        completion.token_ids for completion in expected
    ]

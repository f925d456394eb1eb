"""The engine loop completes requests in order on its own thread, loads weights in between, and reports errors."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Literal

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
from agnostics.profiling.spans import SpanRecorder
from agnostics.rollout import engine_loop
from agnostics.rollout.engine_loop import EngineLoop
from agnostics.train.cpu_threads import shared_cpu_threads
from agnostics.types.errors import AgnosticsError

pytestmark = pytest.mark.slow

Name = Literal["vllm", "transformers"]
PARAMS = SamplingParams(temperature=0.7, max_completion_tokens=12)
REQUESTS = [CompletionRequest(tuple(range(5, 12)), seed=index) for index in range(10)]


@pytest.fixture
def engine(tiny_model: Callable[..., Path]) -> Iterator[Engine]:
    with _open("transformers", tiny_model) as engine:
        yield engine


def _open(name: Name, tiny_model: Callable[..., Path]) -> Engine:
    return open_engine(name, EngineSettings(tiny_model(tied=True), (1,), max_length=64, max_num_seqs=4))


def test_requests_submitted_together_or_apart_are_completed_as_in_one_batch(engine: Engine) -> None:
    expected = dict(generate(engine, REQUESTS, PARAMS))
    first, second = dict[int, Completion](), dict[int, Completion]()
    recorder = SpanRecorder()
    with EngineLoop(engine, recorder) as loop:
        earlier = loop.submit(REQUESTS[:6], PARAMS, first.__setitem__)
        loop.wait(loop.submit(REQUESTS[6:], PARAMS, second.__setitem__), "complete")
        assert earlier.done()
    completions = {**first, **{index + 6: completion for index, completion in second.items()}}
    assert {index: completion.token_ids for index, completion in completions.items()} == {
        index: completion.token_ids for index, completion in expected.items()
    }
    spans, _ = recorder.close_window()
    assert {span.track for span in spans} == {"generation"}


def test_the_generation_of_a_completion_has_ended_before_anything_hears_of_it(engine: Engine) -> None:
    recorder, open_tracks = SpanRecorder(), list[str]()

    def note(*_: object) -> None:
        open_tracks.extend(span.track for span in recorder._open)

    with EngineLoop(engine, recorder) as loop:
        loop.wait(loop.submit(REQUESTS, PARAMS, note), "complete")
    assert not open_tracks


def test_new_weights_are_loaded_while_completions_are_half_sampled(engine: Engine) -> None:
    weights = [(name, weight.detach().clone()) for name, weight in engine._model.named_parameters()]  # type: ignore[attr-defined]
    completions = dict[int, Completion]()
    first_finished = threading.Event()

    def note(index: int, completion: Completion) -> None:
        completions[index] = completion
        first_finished.set()

    with EngineLoop(engine, SpanRecorder()) as loop:
        done = loop.submit(REQUESTS, PARAMS, note)
        assert first_finished.wait(timeout=60)
        loop.load_weights(iter(weights), version=7)
        assert not done.done()
        loop.wait(done, "complete")
    assert {0, 7} == {version for completion in completions.values() for version in completion.policy_versions}
    assert engine.version == 7


def test_an_error_of_a_request_reaches_its_waiter_and_the_loop_goes_on(engine: Engine) -> None:
    completions = dict[int, Completion]()

    def refuse(*_: object) -> None:
        raise ValueError("no room")

    with EngineLoop(engine, SpanRecorder()) as loop:
        with pytest.raises(ValueError, match="no room"):
            loop.wait(loop.submit(REQUESTS, PARAMS, refuse), "complete")
        with pytest.raises(RuntimeError):
            loop.load_weights(iter([("model.norm.weight", engine._model.model.norm.weight[:3])]), version=1)  # type: ignore[attr-defined]
        loop.wait(loop.submit(REQUESTS, PARAMS, completions.__setitem__), "complete")
    assert len(completions) == len(REQUESTS)


def test_the_error_of_an_engine_that_hangs_fits_every_command_that_waits(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with EngineLoop(engine, SpanRecorder()) as loop:
        monkeypatch.setattr(engine_loop, "_TOKEN_TIMEOUT_S", 0.1)
        with pytest.raises(AgnosticsError, match="did not answer a request within 0 s; continue with --resume"):
            loop.wait(Future(), "answer a request")
        monkeypatch.undo()


def test_aborted_requests_are_not_completed(engine: Engine) -> None:
    first_finished, finished = threading.Event(), list[int]()

    def note(index: int, _: Completion) -> None:
        finished.append(index)
        first_finished.set()

    with EngineLoop(engine, SpanRecorder()) as loop:
        loop.submit(REQUESTS, PARAMS, note)
        assert first_finished.wait(timeout=60)
        loop.abort_all()
        before = len(finished)
        assert not engine.has_unfinished_requests
        loop.wait(loop.submit(REQUESTS[:1], PARAMS, note), "complete")
    assert len(finished) == before + 1 < len(REQUESTS)


@pytest.fixture
def four_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("four_threads")
@pytest.mark.parametrize("name", ["vllm", "transformers"])
def test_sampling_and_learning_at_the_same_time_have_half_of_the_threads_each(
    name: Name, tiny_model: Callable[..., Path]
) -> None:
    def threads_of(loop: EngineLoop) -> tuple[set[int], int]:
        seen = set[int]()
        done = loop.submit(REQUESTS[:2], PARAMS, lambda _index, _completion: seen.add(torch.get_num_threads()))
        loop.wait(done, "complete")
        return seen, torch.get_num_threads()

    with _open(name, tiny_model) as engine, EngineLoop(engine, SpanRecorder()) as loop:
        loop.set_num_threads(4)
        assert threads_of(loop) == ({4}, 4)
        with shared_cpu_threads(loop):
            assert threads_of(loop) == ({2}, 2)
        assert threads_of(loop) == ({4}, 4)


@pytest.mark.usefixtures("four_threads")
def test_learning_has_all_threads_once_nothing_is_left_to_sample(engine: Engine) -> None:
    sampled, go_on = threading.Event(), threading.Event()

    def hold(_index: int, _completion: Completion) -> None:
        sampled.set()
        go_on.wait(timeout=60)

    with EngineLoop(engine, SpanRecorder()) as loop, shared_cpu_threads(loop) as reclaim_if_idle:
        done = loop.submit(REQUESTS[:2], PARAMS, hold)
        assert sampled.wait(timeout=60)
        reclaim_if_idle()
        assert torch.get_num_threads() == 2
        go_on.set()
        loop.wait(done, "complete")
        reclaim_if_idle()
        assert torch.get_num_threads() == 4


@pytest.fixture
def current_gpu(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """The GPU that CUDA would use on the calling thread of rank 1, on a machine that has none.

    As in CUDA, it is 0 on every thread until `set_device` is called on that thread.
    """
    chosen = dict[int, int]()
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: chosen.update({threading.get_ident(): device}))
    return lambda: chosen.get(threading.get_ident(), 0)


def test_every_call_of_an_engine_is_made_with_the_gpu_of_the_rank(
    engine: Engine, current_gpu: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    gpus = dict[str, set[int]]()

    def noted(name: str) -> Callable[..., object]:
        method = getattr(engine, name)

        def call(*arguments: object) -> object:
            gpus.setdefault(name, set()).add(current_gpu())
            return method(*arguments)

        return call

    calls = ("add_request", "step", "abort_all", "load_weights", "set_num_threads")
    for name in calls:
        monkeypatch.setattr(engine, name, noted(name))
    with EngineLoop(engine, SpanRecorder()) as loop:
        loop.wait(loop.submit(REQUESTS[:2], PARAMS, lambda _index, _completion: None), "complete")
        loop.load_weights(iter([]), version=1)
        loop.set_num_threads(torch.get_num_threads())
        loop.abort_all()
    assert gpus == {name: {1} for name in calls}
    assert current_gpu() == 0  # on this thread nothing has chosen one

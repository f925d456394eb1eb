"""Several vLLM processes sample as one engine does, with the same weights at every time, and end together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from agnostics.inference.engine import Completion, CompletionRequest, EngineSettings, SamplingParams, generate
from agnostics.inference.provider import open_engine
from agnostics.inference.remote import data_parallel
from agnostics.inference.remote.data_parallel import DataParallelEngine, open_remote_engine
from agnostics.inference.remote.placement import EnginePlacement, place_engines
from agnostics.models.loading import load_tokenizer
from agnostics.profiling.spans import SpanRecorder
from agnostics.rollout.detokenizer import Detokenizer
from agnostics.rollout.engine_loop import EngineLoop, EngineSource
from agnostics.rollout.prompts import RenderedPrompt
from agnostics.rollout.sources import ActionRequest
from agnostics.types.errors import AgnosticsError, UsageError
from agnostics.types.task import Task, Test
from transformers import AutoModelForCausalLM

PARAMS = SamplingParams(temperature=0.7, max_completion_tokens=24)
TASK = Task(id="t", tests=(Test(input="", output=""),))
SAID, BLOCK = (3, 4, 6), 32
"""The tokens of an observation, and those of a block of vLLM's prefix cache on a CPU."""
GROUPS = (4, 4, 4)
REQUESTS = [
    CompletionRequest(tuple(range(5, 12 + group)), seed=10 * group + sample)
    for group, size in enumerate(GROUPS)
    for sample in range(size)
]


@pytest.fixture(scope="module")
def settings(tiny_model: Callable[..., Path]) -> EngineSettings:
    """No token ends a completion: all are as long as they are asked to be, on every processor."""
    return EngineSettings(tiny_model(tied=False), (), max_length=2000, max_num_seqs=8)


@pytest.fixture(scope="module")
def engine(settings: EngineSettings) -> Iterator[DataParallelEngine]:
    with open_engine("vllm", settings, separate_process=True, processes=2) as engine:
        assert isinstance(engine, DataParallelEngine)
        yield engine


def _children() -> set[int]:
    """The processes that this one has started, with those that have ended and are not waited for."""
    names = (path.name for path in Path("/proc").iterdir())
    return {process for process in map(int, filter(str.isdecimal, names)) if _is_child(process)}


def _is_child(process: int) -> bool:
    try:
        return f"\nPPid:\t{os.getpid()}\n" in Path(f"/proc/{process}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        return False


@pytest.mark.slow
def test_two_processes_sample_what_one_does_with_a_prompt_in_one_of_them_as_far_as_they_are_even(
    engine: DataParallelEngine, settings: EngineSettings
) -> None:
    with open_engine("vllm", settings) as one:
        expected = dict(generate(one, REQUESTS, PARAMS))
    for index, request in enumerate(REQUESTS):
        engine.add_request(index, request, PARAMS)
    assert engine.has_unfinished_requests
    engine._dispatch()
    assert [sorted(process._unfinished) for process in engine._engines] == [[0, 1, 2, 3, 8, 9], [4, 5, 6, 7, 10, 11]]
    completions = dict[int, Completion]()
    while engine.has_unfinished_requests:
        completions.update(engine.step())
    for index in range(len(REQUESTS)):
        assert completions[index].token_ids == expected[index].token_ids
        assert completions[index].logprobs == pytest.approx(expected[index].logprobs, abs=1e-4)


@pytest.mark.slow
def test_every_later_turn_of_a_conversation_finds_its_prefix_in_the_cache_of_its_process(
    engine: DataParallelEngine, settings: EngineSettings
) -> None:
    prompts = [RenderedPrompt(TASK, "", tuple(range(start, start + 50))) for start in (5, 55)]
    sequences = {number: prompts[number // 4].token_ids for number in range(8)}
    with EngineLoop(engine, SpanRecorder()) as loop:
        source = EngineSource(loop, Detokenizer(load_tokenizer(settings.folder)))
        for turn in range(3):
            requests = {
                number: ActionRequest(prompts[number // 4], number, sequence[50:], (), True, number)
                for number, sequence in sequences.items()
            }
            futures = source.submit(list(requests.values()), PARAMS)
            for number, future in zip(requests, futures, strict=True):
                action = future.result(timeout=60)
                assert action
                assert action.segment
                if turn:  # the key and value of the last token that was sampled before are missing
                    cached = (len(sequences[number]) - 1 - len(SAID)) // BLOCK * BLOCK
                    assert action.computed_prompt_tokens == len(sequences[number]) - cached
                sequences[number] += (*action.segment.token_ids, *SAID)
            sequences = dict(reversed(sequences.items()))  # else they would be divided as before
    assert {len(sequence) for sequence in sequences.values()} == {50 + 3 * (24 + len(SAID))}


def _versions(completions: dict[int, Completion], group: range) -> set[int]:
    """The policy versions of the completions of a group that have finished."""
    return {version for index in group if index in completions for version in completions[index].policy_versions}


@pytest.mark.slow
def test_new_weights_reach_both_processes_in_the_middle_of_their_completions(
    engine: DataParallelEngine, settings: EngineSettings
) -> None:
    model: Any = AutoModelForCausalLM.from_pretrained(settings.folder, dtype=torch.float32)
    engine.load_weights(((name, weight.detach()) for name, weight in model.named_parameters()), version=0)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.05 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(0)))
    engine.set_num_threads(torch.get_num_threads())
    for index, request in enumerate(REQUESTS):
        engine.add_request(index, request, replace(PARAMS, max_completion_tokens=(40, 150, 500, 1800)[index % 4]))
    completions = dict[int, Completion]()
    groups = (range(4), range(4, 8))  # the first prompt is in one process, the second in the other
    while not all(_versions(completions, group) for group in groups):  # one process may be far behind the other
        completions.update(engine.step())
    engine.load_weights(((name, weight.detach()) for name, weight in model.named_parameters()), version=1)
    while engine.has_unfinished_requests and not all(1 in _versions(completions, group) for group in groups):
        completions.update(engine.step())
    assert [_versions(completions, group) for group in groups] == [{0, 1}] * 2
    assert engine.version == 1
    engine.abort_all()
    for index, completion in completions.items():
        new = [place for place, version in enumerate(completion.policy_versions) if version == 1]
        prompt = REQUESTS[index].prompt_ids
        with torch.no_grad():
            logits = model(torch.tensor([prompt + completion.token_ids])).logits[0, len(prompt) - 1 : -1]
        chosen = torch.tensor(completion.token_ids)[:, None]
        logprobs = (logits / PARAMS.temperature).log_softmax(-1).gather(-1, chosen).squeeze(-1)
        sampled = torch.tensor(completion.logprobs)
        assert (logprobs - sampled)[new].abs().sum() < 1e-4 * (1 + len(new))


@pytest.mark.slow
def test_the_end_of_one_process_is_an_error_in_one_line_and_the_end_of_the_other(engine: DataParallelEngine) -> None:
    processes = {process._process._process.pid for process in engine._engines}
    assert len(processes & _children()) == 2
    with EngineLoop(engine, SpanRecorder()) as loop:
        done = loop.submit(REQUESTS, replace(PARAMS, max_completion_tokens=200), lambda _index, _completion: None)
        engine._engines[1]._process.kill()
        with pytest.raises(AgnosticsError, match=r"^the engine's process was killed by signal 9$"):
            done.result(timeout=60)
    engine.__exit__()
    assert not processes & _children()


def test_a_process_that_cannot_start_ends_the_others_and_is_an_error(
    settings: EngineSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = [
        EnginePlacement("gloo", {"PYTHONHOME": "/nowhere"}),
        EnginePlacement("gloo", {}),
    ]
    monkeypatch.setattr(data_parallel, "place_engines", lambda *_, **__: places)
    before = _children()
    with pytest.raises(AgnosticsError, match=r"^the engine's process ended with status 1$"):
        open_remote_engine(settings, processes=2)
    assert _children() <= before


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A rank of several on a machine with GPUs, as the launcher and CUDA tell it."""

    def machine(count: int, *, rank: int = 0, ranks: int = 1, visible: str = "") -> None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
        for name, value in {"LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": ranks, "CUDA_VISIBLE_DEVICES": visible}.items():
            monkeypatch.setenv(name, str(value))

    return machine


def _devices(places: list[EnginePlacement]) -> list[str]:
    return [place.environment["CUDA_VISIBLE_DEVICES"] for place in places]


def test_every_engine_of_every_rank_has_its_own_gpus_after_those_of_the_ranks(gpus: Callable[..., None]) -> None:
    gpus(10, rank=0, ranks=2)
    first = place_engines(2, 2, beside_trainer=True)
    gpus(10, rank=1, ranks=2)
    second = place_engines(2, 2, beside_trainer=True)
    assert (_devices(first), _devices(second)) == (["2,3", "4,5"], ["6,7", "8,9"])
    assert {place.transfer for place in [*first, *second]} == {"nccl"}
    gpus(3, visible="4,6,7")
    assert _devices(place_engines(2, 1, beside_trainer=True)) == ["6", "7"]
    gpus(4)
    assert _devices(place_engines(2, 2, beside_trainer=False)) == ["0,1", "2,3"]


def test_one_engine_of_one_gpu_shares_its_ranks_where_there_are_too_few(gpus: Callable[..., None]) -> None:
    gpus(3, rank=1, ranks=2)
    (place,) = place_engines(1, 1, beside_trainer=True)
    assert (place.transfer, _devices([place])) == ("ipc", ["1"])


@pytest.mark.parametrize(
    ("processes", "size", "beside_trainer", "message"),
    [
        (3, 1, True, "engine_processes = 3 with tensor_parallel_size = 1 beside 1 rank needs 4 GPUs, not 3"),
        (1, 4, True, "engine_processes = 1 with tensor_parallel_size = 4 beside 1 rank needs 5 GPUs, not 3"),
        (2, 2, False, "engine_processes = 2 with tensor_parallel_size = 2 needs 4 GPUs, not 3"),
    ],
)
def test_too_few_gpus_are_refused_with_the_number_that_is_needed(
    processes: int, size: int, beside_trainer: bool, message: str, gpus: Callable[..., None]
) -> None:
    gpus(3)
    with pytest.raises(UsageError, match=f"^{message}$"):
        place_engines(processes, size, beside_trainer=beside_trainer)

"""An engine that sleeps during updates samples what it samples without sleeping, and no call finds it asleep."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from agnostics.inference.engine import Completion, CompletionRequest, EngineSettings, SamplingParams, SupportsSleep
from agnostics.inference.provider import open_engine
from agnostics.profiling.spans import SpanRecorder
from agnostics.rollout.engine_loop import EngineLoop
from transformers import AutoModelForCausalLM

pytestmark = pytest.mark.slow

PARAMS = SamplingParams(temperature=0.7, max_completion_tokens=12)
REQUESTS = [CompletionRequest(tuple(range(5, 12)), seed=index) for index in range(4)]
PACK = """
import os
from agnostics import EngineProvider, hookimpl
from agnostics.inference.transformers import TransformersEngine


class Drowsy(TransformersEngine):
    asleep = False

    def note(self, call):
        with open(os.environ["NOTED"], "a") as noted:
            print(call, file=noted)

    def sleep(self):
        assert not self.has_unfinished_requests
        self.note("sleep")
        self.asleep, self.kept = True, [weight.clone() for weight in self._model.parameters()]
        for weight in self._model.parameters():
            weight.fill_(float("nan"))

    def wake_up(self):
        self.note("wake up")
        self.restore()

    def load_weights(self, weights, version):
        self.note("load")
        self.restore()
        super().load_weights(weights, version)

    def add_request(self, *arguments):
        assert not self.asleep
        super().add_request(*arguments)

    def restore(self):
        if self.asleep:
            for weight, kept in zip(self._model.parameters(), self.kept):
                weight.copy_(kept)
        self.asleep = False


class Provider(EngineProvider):
    name = "drowsy"

    def open(self, settings):
        return Drowsy(settings)


@hookimpl
def agn_engines():
    return [Provider()]
"""
REWARD = """
def after_the_first_step(group, seen=[]):
    seen.append(group)
    return [float(len(seen) > 2 and rollout.sample % 2) for rollout in group]
"""
SETTINGS = [
    *("rollout.engine=drowsy", "rollout.prompts_per_step=2", "rollout.group_size=4"),
    "rollout.max_completion_tokens=16",
    *("evaluation.tasks=2", "evaluation.samples=1", "evaluation.eval_interval=1", "train.learning_rate=1e-3"),
]


def test_a_run_lets_its_engine_sleep_in_updates_and_wakes_it_with_new_weights_or_without(
    starter_model: Path,
    home: Any,
    tmp_path: Path,
    install_pack: Callable[[str, str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install_pack("drowsy", PACK)
    monkeypatch.setenv("NOTED", str(tmp_path / "noted"))
    (tmp_path / "reward.py").write_text(REWARD)
    settings = [*SETTINGS, f"reward={tmp_path / 'reward.py'}:after_the_first_step"]
    sampled = []
    for sleep_mode in ("true", "false"):
        (tmp_path / "noted").write_text("")
        words = ("--model", str(starter_model), "--steps", "3")
        run = home.run(*words, settings=[*settings, f"rollout.sleep_mode={sleep_mode}"])["run"]
        columns = "phase, step, task, sample, reward, tokens, completion"
        sampled.append(home.query(f"select {columns} from verifications where run = ? order by 1, 2, 3, 4", run))
        updates = home.query("select value from step_metric where run_id = ? and name = 'updates' order by step", run)
        assert updates == [(0,), (1,), (1,)]
        update = ["load"] if sleep_mode == "false" else ["sleep", "load", "wake up"]
        first = [] if sleep_mode == "false" else ["sleep", "wake up"]
        assert (tmp_path / "noted").read_text().splitlines() == [*first, *update, *update]
    assert sampled[0] == sampled[1]


def test_vllm_sleeps_through_new_weights_and_a_request_or_a_call_wakes_it(tiny_model: Callable[..., Path]) -> None:
    settings = EngineSettings(tiny_model(tied=False), (1,), max_length=64, max_num_seqs=4, sleep_mode=True)
    model: Any = AutoModelForCausalLM.from_pretrained(settings.folder, dtype=torch.float32)
    changed = [(name, -weight.detach()) for name, weight in model.named_parameters()]
    unchanged = [(name, weight.detach()) for name, weight in model.named_parameters()]
    with open_engine("vllm", settings) as engine, EngineLoop(engine, SpanRecorder()) as loop:
        assert isinstance(engine, SupportsSleep)
        core = engine._engine  # type: ignore[attr-defined]
        first = _completions(loop)
        loop.load_weights(iter(changed), version=1)
        second = _completions(loop)
        assert _tokens(first) != _tokens(second)
        loop.sleep()
        assert core.is_sleeping()
        loop.load_weights(iter(unchanged), version=2)
        assert core.is_sleeping()  # the KV cache
        loop.wake_up()
        assert not core.is_sleeping()
        assert _tokens(_completions(loop)) == _tokens(first)
        loop.sleep()
        loop.load_weights(iter(changed), version=3)
        assert _tokens(_completions(loop)) == _tokens(second)
        assert not core.is_sleeping()
        done = loop.submit(REQUESTS, PARAMS, lambda _index, _completion: None)
        loop.sleep()  # not while it samples
        loop.wait(done, "complete its requests")


def _completions(loop: EngineLoop) -> dict[int, Completion]:
    completions = dict[int, Completion]()
    loop.wait(loop.submit(REQUESTS, PARAMS, completions.__setitem__), "complete its requests")
    return completions


def _tokens(completions: dict[int, Completion]) -> list[tuple[int, ...]]:
    return [completions[index].token_ids for index in range(len(REQUESTS))]

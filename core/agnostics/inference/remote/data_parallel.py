"""Several vLLM processes that hold the same model and sample as one engine (data parallelism)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, Self

from agnostics.inference.engine import Completion, CompletionRequest, Engine, EngineSettings, SamplingParams
from agnostics.inference.remote.client import RemoteEngine, wait_for_any
from agnostics.inference.remote.placement import place_engines
from agnostics.inference.remote.request_router import RequestRouter

if TYPE_CHECKING:
    import torch

_Request = tuple[int, CompletionRequest, SamplingParams]


def open_remote_engine(settings: EngineSettings, processes: int = 1, *, beside_trainer: bool = True) -> Engine:
    """vLLM in `processes` processes of its own, which load the model at the same time.

    `beside_trainer` leaves the ranks' GPUs to them. Raises UsageError if there are too few GPUs, AgnosticsError if a
    process fails; then none is left.
    """
    places = place_engines(processes, settings.tensor_parallel_size, beside_trainer=beside_trainer)
    with ExitStack() as started:
        engines = [started.enter_context(RemoteEngine(settings, place)) for place in places]
        for one in engines:
            one.wait_until_loaded()
        engine: Engine = engines[0] if processes == 1 else DataParallelEngine(engines, settings.max_num_seqs)
        started.pop_all()
    return engine


class DataParallelEngine:
    """Engines with the same model, among which requests are divided; an error of one of them is an error of all.

    Requests wait for the next `step`, which knows all of them; `RequestRouter` says which engine each goes to.
    """

    def __init__(self, engines: Sequence[RemoteEngine], max_num_seqs: int) -> None:
        import torch

        self.version = 0
        self._engines = engines
        self._router = RequestRouter(max_num_seqs)
        self._waiting: list[_Request] = []
        self.set_num_threads(torch.get_num_threads())

    @property
    def has_unfinished_requests(self) -> bool:
        """See `Engine.has_unfinished_requests`."""
        return bool(self._waiting or self._busy)

    def add_request(self, request_id: int, request: CompletionRequest, params: SamplingParams) -> None:
        """See `Engine.add_request`."""
        self._waiting.append((request_id, request, params))

    def step(self) -> list[tuple[int, Completion]]:
        """The completions that have finished in any engine, as `Engine.step`; after a short wait maybe none."""
        self._dispatch()
        busy = self._busy
        wait_for_any(busy)
        return [completion for engine in busy for completion in engine.step(timeout_s=0)]

    def abort_all(self) -> None:
        """See `Engine.abort_all`."""
        self._waiting.clear()
        self._call_each(lambda engine: engine.abort_all())

    def load_weights(self, weights: Iterable[tuple[str, torch.Tensor]], version: int) -> None:
        """See `Engine.load_weights`; to one engine after another over NCCL, whose communicators share a GPU here."""
        sent = list(weights)
        if any(engine.transfer == "nccl" for engine in self._engines):
            for engine in self._engines:
                engine.load_weights(sent, version)
        else:
            self._call_each(lambda engine: engine.load_weights(sent, version))
        self.version = version

    def set_num_threads(self, count: int) -> None:
        """See `Engine.set_num_threads`; the engines divide the threads."""
        share = max(1, count // len(self._engines))
        self._call_each(lambda engine: engine.set_num_threads(share))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._call_each(lambda engine: engine.__exit__(*exception))

    @property
    def _busy(self) -> list[RemoteEngine]:
        return [engine for engine in self._engines if engine.has_unfinished_requests]

    def _dispatch(self) -> None:
        """Add the waiting requests to the engines."""
        waiting, self._waiting = self._waiting, []
        unfinished = [engine.num_unfinished_requests for engine in self._engines]
        chosen = self._router.route([request for _, request, _ in waiting], unfinished)
        for request, engine in zip(waiting, chosen, strict=True):
            self._engines[engine].add_request(*request)

    def _call_each(self, call: Callable[[RemoteEngine], None]) -> None:
        """Call all engines at the same time. Raises the first error once all calls have returned."""
        with ThreadPoolExecutor(len(self._engines)) as threads:
            calls = [threads.submit(call, engine) for engine in self._engines]
        for done in calls:
            done.result()

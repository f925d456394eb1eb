"""The episode loop: plays the episodes of an environment, many at the same time, on a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Self

from agnostics.environments.environment import Environment, EpisodeLimits
from agnostics.inference.engine import SamplingParams
from agnostics.rollout import rollout_verifier
from agnostics.rollout.action_batcher import ActionBatcher
from agnostics.rollout.conversation import ConversationRenderer
from agnostics.rollout.episode_journal import EpisodeJournal
from agnostics.rollout.episode_player import EpisodePlayer
from agnostics.rollout.episode_sandboxes import EpisodeSandboxes
from agnostics.rollout.rollout_verifier import RolloutVerifier, verification_timeout
from agnostics.rollout.running_episode import EpisodeThreads, RunningEpisode, Verifications
from agnostics.rollout.sources import CompletionSource, SampleRequest
from agnostics.rollout.transcript import Transcript
from agnostics.types.errors import AgnosticsError
from agnostics.types.rollout import Rollout

_THREADS = 64
"""Commands of sessions and other work of environments at the same time."""
_CLOSE_TIMEOUT_S = 60.0

OnSampled = Callable[[], None]
"""Called when the last action of an episode is sampled and only its verdict is missing, on the loop's thread."""


class EpisodeLoop:
    """Plays episodes: an action of the source, a transition of the environment, in turns. A context manager.

    An episode that waits, for its action, a tool or a verdict, holds up no other one. `renderer` makes the tokens of
    observations; None for an endpoint, which gets messages.
    """

    def __init__(
        self,
        source: CompletionSource,
        environment: Environment[Any],
        verifier: RolloutVerifier,
        limits: EpisodeLimits | None = None,
        renderer: ConversationRenderer | None = None,
        sandboxes: EpisodeSandboxes | None = None,
    ) -> None:
        self.source, self.verifier = source, verifier
        self._environment, self._renderer = environment, renderer
        self._limits = limits or environment.limits
        self.journal: EpisodeJournal | None = None
        """Keeps the turns of training episodes; set before the first of them."""
        self._sandboxes = sandboxes or EpisodeSandboxes(verifier.verifier.mode)
        self._threads = EpisodeThreads(
            tools=ThreadPoolExecutor(_THREADS, thread_name_prefix="agnostics-tools"),
            submitting=ThreadPoolExecutor(1, thread_name_prefix="agnostics-submitting"),
        )
        self._loop = asyncio.new_event_loop()
        self._actions = ActionBatcher(self._loop, source)
        self._thread = threading.Thread(target=self._loop.run_forever, name="agnostics-episodes", daemon=True)
        self._tasks = set[asyncio.Task[None]]()
        self._steps = 0

    def __enter__(self) -> Self:
        if self._renderer and self._limits.max_turns > 1:
            self._renderer.check_template()
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(self._cancel_all(), self._loop).result(timeout=_CLOSE_TIMEOUT_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=_CLOSE_TIMEOUT_S)
        if not self._thread.is_alive():
            self._loop.close()
        self._sandboxes.close_all()
        self._threads.shutdown()

    def submit(
        self,
        requests: Sequence[SampleRequest],
        params: SamplingParams,
        on_sampled: OnSampled = lambda: None,
        *,
        stop_on_failure: bool = True,
    ) -> list[Future[Rollout]]:
        """Play an episode for each request; the futures get verified rollouts, or raise what went wrong.

        Without `stop_on_failure` every test of a program is run, also after a failed one. A program that the episodes
        of one prompt hold several times is verified once.
        """
        shared = defaultdict[int, Verifications](dict)

        def play(request: SampleRequest) -> Coroutine[Any, Any, Rollout]:
            episode = RunningEpisode(
                task=request.prompt.task,
                limits=self._limits,
                verifier=self.verifier,
                stop_on_failure=stop_on_failure,
                verifications=shared[id(request.prompt)],
                renderer=self._renderer,
                sandboxes=self._sandboxes,
                threads=self._threads,
                progressed=self._progressed,
            )
            journal = self.journal if request.step and self._limits.max_turns > 1 else None
            transcript = Transcript(request, self._limits)
            player = EpisodePlayer(self._environment, episode, transcript, self._actions, params, journal)
            return player.play(on_sampled)

        return self._start(play, requests)

    def sample(self, requests: Sequence[SampleRequest], params: SamplingParams) -> list[Future[Rollout]]:
        """Sample one action for each request, without an environment and a verification."""
        return self._start(lambda request: self._sample(request, params), requests)

    def wait(self, done: Future[Any]) -> Any:
        """The result of a future of this loop.

        Raises AgnosticsError if for 900 s no token, no verdict and no result of a tool comes.
        """
        while True:
            before = self.source.progress + self._steps
            try:
                return done.result(timeout=rollout_verifier.VERDICT_TIMEOUT_S)
            except TimeoutError:
                if done.done():
                    raise
                if self.source.progress + self._steps == before:
                    raise self._timeout() from None

    def _timeout(self) -> AgnosticsError:
        if not self._actions.pending:
            return verification_timeout()
        limit_s = rollout_verifier.VERDICT_TIMEOUT_S
        return AgnosticsError(
            f"the engine did not complete its requests within {limit_s:.0f} s; continue with --resume"
        )

    def _start(
        self, play: Callable[[SampleRequest], Coroutine[Any, Any, Rollout]], requests: Sequence[SampleRequest]
    ) -> list[Future[Rollout]]:
        futures = [Future[Rollout]() for _ in requests]

        def begin() -> None:
            for request, future in zip(requests, futures, strict=True):
                task = self._loop.create_task(_resolve(future, play(request)))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

        self._loop.call_soon_threadsafe(begin)
        return futures

    # The methods below run on the loop's thread.

    def _progressed(self) -> None:
        self._steps += 1

    async def _sample(self, request: SampleRequest, params: SamplingParams) -> Rollout:
        transcript = Transcript(request, self._limits.model_copy(update={"max_turns": 1}))
        action = await self._actions.sample(transcript, params)
        assert action  # only a later one may find no room
        transcript.add_action(action)
        return transcript.rollout(None)

    async def _cancel_all(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _resolve(future: Future[Rollout], episode: Coroutine[Any, Any, Rollout]) -> None:
    try:
        future.set_result(await episode)
    except asyncio.CancelledError:
        future.cancel()
        raise
    except Exception as error:
        future.set_exception(error)

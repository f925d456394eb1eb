"""The pool on a node of a cluster, as a Ray actor."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future

from agnostics.sandbox.backend import SandboxBackend
from agnostics.sandbox.modes import first_working
from agnostics.sandbox.pool import Pool
from agnostics.sandbox.protocol import Job, JobResult
from agnostics.types.errors import AgnosticsError
from agnostics.types.language import Language

NodeResult = JobResult | AgnosticsError
"""The result of a job, or the reason why there is none."""


class NodePool:
    """A pool in an actor process on the node, with the first backend that works there. Several threads call it."""

    def __init__(self, backends: Sequence[SandboxBackend], slots: int) -> None:
        self._pool = Pool(first_working(backends), slots)

    def mode(self) -> str:
        """The name of the backend in use on this node."""
        return self._pool.mode

    def run(self, language: Language, jobs: list[Job]) -> list[NodeResult]:
        """Run a batch of jobs and return their results in order."""
        futures = [self._pool.submit(language, job) for job in jobs]
        return [_result_or_error(future) for future in futures]

    def close(self) -> None:
        """End the slots."""
        self._pool.close()


def _result_or_error(future: Future[JobResult]) -> NodeResult:
    try:
        return future.result()
    except AgnosticsError as error:
        return error

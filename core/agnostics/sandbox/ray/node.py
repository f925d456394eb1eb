"""What runs on a node of a cluster: an ordinary pool, asked from afar."""

from __future__ import annotations

from concurrent.futures import Future

from agnostics.sandbox.modes import choose_backend
from agnostics.sandbox.pool import Pool
from agnostics.sandbox.protocol import Answer, Job
from agnostics.types.errors import AgnosticsError
from agnostics.types.language import Language

Reply = Answer | AgnosticsError


class NodePool:
    """A pool as a Ray actor: it lives in a process on the node and is called in threads."""

    def __init__(self, mode: str, slots: int) -> None:
        self._pool = Pool(choose_backend(mode), slots)

    def mode(self) -> str:
        """The isolation mode in use here."""
        return self._pool.mode

    def run(self, language: Language, jobs: list[Job]) -> list[Reply]:
        """The answers to jobs, or why there can be none."""
        futures = [self._pool.submit(language, job) for job in jobs]
        return [_reply(future) for future in futures]

    def close(self) -> None:
        """End the slots."""
        self._pool.close()


def _reply(future: Future[Answer]) -> Reply:
    try:
        return future.result()
    except AgnosticsError as error:
        return error

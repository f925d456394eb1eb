"""The program of an engine's own process: the far side of `EngineProcess`."""

from __future__ import annotations

import sys
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from agnostics.inference.remote.messages import Ask, Begin, Drop, Ended, Failed, Opening, Reply, UseThreads, WorkerCall
from agnostics.inference.vllm import VllmEngine
from agnostics.types.errors import AgnosticsError
from agnostics.util.subprocesses import die_with_parent

_STRETCH = 64
"""Tokens after which the trainer is told that the engine is alive."""


def main() -> None:
    """Do what comes over the connection whose number is the one argument, until it is closed."""
    connection: Connection[Any, Any] = Connection(int(sys.argv[1]))
    opening: Opening = connection.recv()
    die_with_parent(opening.parent)
    try:
        engine = VllmEngine(opening.settings, opening.transfer)
    except AgnosticsError as error:
        connection.send(Reply(str(error)))
        return
    with engine, suppress(EOFError, ConnectionError):
        connection.send(Reply())
        _Server(connection, engine).serve()


class _Server:
    """Samples, and between two tokens does what it is told."""

    def __init__(self, connection: Connection[Any, Any], engine: VllmEngine) -> None:
        self._connection = connection
        self._engine = engine
        self._loading = False
        self._silent = 0

    def serve(self) -> None:
        """Raises EOFError where the trainer has gone."""
        while True:
            while self._loading or not self._engine.busy or self._connection.poll():
                self._obey(self._connection.recv())
            self._sample()

    def _sample(self) -> None:
        try:
            ended = self._engine.advance()
        except Exception as error:
            self._engine.drop()
            self._connection.send(Failed(_described(error)))
            return
        self._silent += 1
        if ended or self._silent == _STRETCH:
            self._connection.send(Ended(ended))
            self._silent = 0

    def _obey(self, call: object) -> None:
        try:
            self._do(call)
        except Exception as error:
            self._connection.send(Failed(_described(error)) if isinstance(call, Ask) else Reply(_described(error)))
        else:
            if not isinstance(call, Ask):
                self._connection.send(Reply())

    def _do(self, call: object) -> None:
        match call:
            case Ask(key, prompt, sampling):
                self._engine.add(key, prompt, sampling)
            case Drop():
                self._engine.drop()
            case WorkerCall(name, arguments):
                # Between the first step and `Begin` the model is in pieces.
                self._loading = self._loading or name == "start_weight_update"
                self._engine.call_worker(name, arguments)
            case Begin(version):
                self._engine.begin(version)
                self._loading = False
            case UseThreads(count):
                self._engine.use_threads(count)


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    main()

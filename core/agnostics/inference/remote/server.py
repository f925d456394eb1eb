"""The program of an engine's own process: serves the calls of a `RemoteEngine`."""

from __future__ import annotations

from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from agnostics.inference.remote.messages import (
    AbortAll,
    AddRequest,
    CallResult,
    FinishedRequests,
    LoadAdapter,
    ResumeSampling,
    SamplingFailed,
    SetNumThreads,
    StartEngine,
    WorkerCall,
)
from agnostics.inference.vllm import VllmEngine, import_vllm
from agnostics.types.errors import AgnosticsError, describe_error
from agnostics.util.child_process import connect_to_parent

_HEARTBEAT_TOKENS = 64
"""Tokens after which the trainer is told that the engine is alive."""


def main() -> None:
    """Serve the trainer until it closes the connection."""
    connection = connect_to_parent()
    start: StartEngine = connection.recv()
    try:
        engine = VllmEngine(start.settings, start.transfer)
    except AgnosticsError as error:
        connection.send(CallResult(str(error)))
        return
    with engine, suppress(EOFError, ConnectionError):
        connection.send(CallResult())
        _Server(connection, engine).serve()


class _Server:
    """Samples, and handles messages between two tokens."""

    def __init__(self, connection: Connection[Any, Any], engine: VllmEngine) -> None:
        self._connection = connection
        self._engine = engine
        self._loading_weights = False
        self._tokens_since_message = 0

    def serve(self) -> None:
        """Raises EOFError when the trainer is gone."""
        while True:
            while self._loading_weights or not self._engine.has_unfinished_requests or self._connection.poll():
                self._handle(self._connection.recv())
            self._sample()

    def _sample(self) -> None:
        try:
            finished = self._engine.step()
        except Exception as error:
            self._engine.abort_all()
            self._connection.send(SamplingFailed(describe_error(error)))
            return
        self._tokens_since_message += 1
        if finished or self._tokens_since_message == _HEARTBEAT_TOKENS:
            self._connection.send(FinishedRequests(finished))
            self._tokens_since_message = 0

    def _handle(self, message: object) -> None:
        is_request = isinstance(message, AddRequest)
        try:
            self._dispatch(message)
        except Exception as error:
            self._connection.send(
                SamplingFailed(describe_error(error)) if is_request else CallResult(describe_error(error))
            )
        else:
            if not is_request:
                self._connection.send(CallResult())

    def _dispatch(self, message: object) -> None:
        match message:
            case AddRequest(request_id, request, params):
                self._engine.add_request(request_id, request, params)
            case AbortAll():
                self._engine.abort_all()
            case WorkerCall(name, arguments):
                # Between the first step and `ResumeSampling` the model is incomplete.
                self._loading_weights = self._loading_weights or name == "start_weight_update"
                self._engine.call_worker(name, arguments)
            case ResumeSampling(version):
                self._engine.resume(version)
                self._loading_weights = False
            case LoadAdapter(weights, version):
                self._engine.load_adapter(weights, version)
            case SetNumThreads(count):
                self._engine.set_num_threads(count)


if __name__ == "__main__":
    main()
elif __name__ == "__mp_main__":
    # A process among which vLLM divides the model begins with the module of its parent, and imports vLLM afterwards.
    import_vllm()

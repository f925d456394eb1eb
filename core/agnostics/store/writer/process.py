"""A process that commits a run's batches, so that inserts do not hold the trainer's GIL: client and protocol."""

from __future__ import annotations

import logging
import pickle
import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Literal, Self

import msgspec
from sqlalchemy import URL

from agnostics.store.database import display_url
from agnostics.store.records import CompletionRecord, sanitize
from agnostics.store.writer.batch import Batch
from agnostics.types.errors import AgnosticsError
from agnostics.types.task import Task
from agnostics.util.child_process import ChildProcess

CHUNK_ROWS = 10
_MOST_CACHED_TASKS = 4096


class Handshake(msgspec.Struct, frozen=True):
    """The first message to the writer: the parts of the database's URL, and the run."""

    url: dict[str, Any]
    run: str


class WriterMessage(msgspec.Struct, frozen=True):
    """A message from the writer: log records, then the outcome of a batch."""

    kind: Literal["committed", "log", "failed"]
    text: str = ""


class _Chunk(msgspec.Struct, frozen=True):
    """Records of a batch. `tasks` are those that were not sent before, by key; `clear_tasks` drops the earlier ones
    first."""

    clear_tasks: bool
    tasks: dict[int, bytes]
    records: msgspec.Raw


class _BatchMessage(msgspec.Struct, frozen=True):
    chunks: list[msgspec.Raw]
    metrics: list[tuple[int, str, float]]


class BatchEncoder:
    """Encodes batches; holds the GIL for 2 to 4 µs a record."""

    def __init__(self) -> None:
        self._encoder = msgspec.msgpack.Encoder(enc_hook=self._task_key)
        self._keys: dict[int, tuple[Task, int]] = {}
        self._new: dict[int, bytes] = {}
        self._last_key = 0

    def encode(self, batch: Batch) -> bytes:
        """The message with `batch`, for a `BatchDecoder` that got all earlier ones.

        It is encoded in small chunks, so that other threads get the GIL between them, and sent as one message, because
        each would wake the writer, often on the trainer's processor.
        """
        chunks = []
        for start in range(0, len(batch.records), CHUNK_ROWS):
            chunks.append(msgspec.Raw(self._chunk(batch.records[start : start + CHUNK_ROWS])))
            time.sleep(0)
        metrics = [(*key, float(value)) for key, value in batch.metrics.items()]
        return msgspec.msgpack.encode(_BatchMessage(chunks, metrics))

    def _chunk(self, records: Sequence[CompletionRecord]) -> bytes:
        clear, self._new = len(self._keys) > _MOST_CACHED_TASKS, {}
        if clear:
            self._keys = {}
        encoded = msgspec.Raw(self._records(records))
        return msgspec.msgpack.encode(_Chunk(clear, self._new, encoded))

    def _records(self, records: Sequence[CompletionRecord]) -> bytes:
        try:
            return self._encoder.encode(records)
        except UnicodeEncodeError:  # a lone surrogate in a completion
            return self._encoder.encode([_sanitized(record) for record in records])

    def _task_key(self, task: Task) -> int:
        known = self._keys.get(id(task))
        if known is None:
            self._last_key += 1
            known = self._keys[id(task)] = (task, self._last_key)
            self._new[self._last_key] = pickle.dumps(task)
        return known[1]


class BatchDecoder:
    """Decodes the messages of a `BatchEncoder`, in order."""

    def __init__(self) -> None:
        self._decoder = msgspec.msgpack.Decoder(list[CompletionRecord], dec_hook=lambda _, key: self._tasks[key])
        self._tasks: dict[int, Task] = {}

    def decode(self, message: bytes) -> Batch:
        """The batch of `message`. Equal keys decode to the same task object."""
        decoded = msgspec.msgpack.decode(message, type=_BatchMessage)
        records = [record for chunk in decoded.chunks for record in self._records(chunk)]
        return Batch(records, {(step, name): value for step, name, value in decoded.metrics})

    def _records(self, encoded: msgspec.Raw) -> list[CompletionRecord]:
        chunk = msgspec.msgpack.decode(encoded, type=_Chunk)
        if chunk.clear_tasks:
            self._tasks = {}
        self._tasks |= {key: pickle.loads(task) for key, task in chunk.tasks.items()}
        return self._decoder.decode(chunk.records)


def _sanitized(record: CompletionRecord) -> CompletionRecord:
    """`record` with texts that UTF-8 can encode."""
    fields = sanitize(msgspec.to_builtins(record, enc_hook=lambda _task: None))
    return msgspec.convert(fields, CompletionRecord, dec_hook=lambda _type, _none: record.task)


EXIT_SECONDS = 5.0
_PROGRAM = "agnostics.store.writer.main"

_log = logging.getLogger(__name__)


class WriterProcess:
    """A separate process that commits the batches of `run`; a context manager.

    It dies with the thread that entered the block, so that nothing more is written for a killed trainer; an interrupt
    from the keyboard does not reach it.
    """

    def __init__(self, url: URL, run: str) -> None:
        self._url = url
        self._run = run
        self._encoder = BatchEncoder()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        description = f"results database {display_url(self._url)}: the process that writes into it"
        self._process = ChildProcess(_PROGRAM, description)
        handshake = Handshake({**self._url._asdict(), "query": dict(self._url.query)}, self._run)
        self._send(msgspec.msgpack.encode(handshake))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self._process as process:
            if not self._lock.acquire(timeout=EXIT_SECONDS):  # a batch is being committed, and no caller waits for it
                process.kill()

    def commit(self, batch: Batch) -> None:
        """Block until `batch` is committed. Raises AgnosticsError if the commit fails, or the process has ended."""
        with self._lock:
            self._send(self._encoder.encode(batch))
            while (message := self._receive()).kind == "log":
                _log.warning("%s", message.text)
        if message.kind == "failed":
            raise AgnosticsError(message.text)

    def _send(self, message: bytes) -> None:
        try:
            self._process.connection.send_bytes(message)
        except ConnectionError as error:
            raise self._process.ended() from error

    def _receive(self) -> WriterMessage:
        try:
            message = self._process.connection.recv_bytes()
        except (EOFError, ConnectionError) as error:
            raise self._process.ended() from error
        return msgspec.msgpack.decode(message, type=WriterMessage)

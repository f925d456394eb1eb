"""The protocol between a trainer and its writer process: messages of MessagePack, each task sent once."""

from __future__ import annotations

import pickle
import time
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from agnostics.store.records import CompletionRecord, sanitize
from agnostics.store.writer.batch import Batch
from agnostics.types.task import Task

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

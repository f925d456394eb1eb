"""The protocol between a trainer and its writer process: frames of MessagePack, each task sent once."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Iterator, Sequence
from typing import IO, Any, Literal

import msgspec

from agnostics.store.records import CompletionRecord, sanitize
from agnostics.store.writer.batch import Batch
from agnostics.types.task import Task

_LENGTH = struct.Struct("<Q")
CHUNK_ROWS = 10
_MOST_CACHED_TASKS = 4096


class Handshake(msgspec.Struct, frozen=True):
    """The first message to the writer: the parts of the database's URL, the run, and the id of the parent process."""

    url: dict[str, Any]
    run: str
    parent: int


class WriterMessage(msgspec.Struct, frozen=True):
    """A message from the writer: log records, then the outcome of a batch."""

    kind: Literal["committed", "log", "failed"]
    text: str = ""


class _Chunk(msgspec.Struct, frozen=True):
    """Records of a batch. `tasks` are those that were not sent before, by key; `clear_tasks` drops the earlier ones
    first; `metrics` come with the `last` chunk."""

    clear_tasks: bool
    tasks: dict[int, bytes]
    records: msgspec.Raw
    metrics: list[tuple[int, str, float]]
    last: bool


class BatchEncoder:
    """Encodes batches; holds the GIL for 2 to 4 µs a record."""

    def __init__(self) -> None:
        self._encoder = msgspec.msgpack.Encoder(enc_hook=self._task_key)
        self._keys: dict[int, tuple[Task, int]] = {}
        self._new: dict[int, bytes] = {}
        self._last_key = 0

    def encode(self, batch: Batch) -> Iterator[bytes]:
        """`batch` in chunks, for a `BatchDecoder` that got all earlier ones.

        The chunks are small, so that other threads get the GIL between them.
        """
        records, metrics = batch.records, [(*key, float(value)) for key, value in batch.metrics.items()]
        for start in range(0, max(1, len(records)), CHUNK_ROWS):
            last = start + CHUNK_ROWS >= len(records)
            yield self._chunk(records[start : start + CHUNK_ROWS], metrics if last else [], last)

    def _chunk(self, records: Sequence[CompletionRecord], metrics: list[tuple[int, str, float]], last: bool) -> bytes:
        clear, self._new = len(self._keys) > _MOST_CACHED_TASKS, {}
        if clear:
            self._keys = {}
        encoded = msgspec.Raw(self._records(records))
        return msgspec.msgpack.encode(_Chunk(clear, self._new, encoded, metrics, last))

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
    """Decodes the chunks of a `BatchEncoder`, in order."""

    def __init__(self) -> None:
        self._decoder = msgspec.msgpack.Decoder(list[CompletionRecord], dec_hook=lambda _, key: self._tasks[key])
        self._tasks: dict[int, Task] = {}
        self._records: list[CompletionRecord] = []

    def decode(self, frame: bytes) -> Batch | None:
        """The batch that `frame` completes, None if more chunks follow. Equal keys decode to the same task object."""
        chunk = msgspec.msgpack.decode(frame, type=_Chunk)
        if chunk.clear_tasks:
            self._tasks = {}
        self._tasks |= {key: pickle.loads(task) for key, task in chunk.tasks.items()}
        self._records += self._decoder.decode(chunk.records)
        if not chunk.last:
            return None
        records, self._records = self._records, []
        return Batch(records, {(step, name): value for step, name, value in chunk.metrics})


def _sanitized(record: CompletionRecord) -> CompletionRecord:
    """`record` with texts that UTF-8 can encode."""
    fields = sanitize(msgspec.to_builtins(record, enc_hook=lambda _task: None))
    return msgspec.convert(fields, CompletionRecord, dec_hook=lambda _type, _none: record.task)


def write_frame(stream: IO[bytes], content: bytes) -> None:
    """Write `content` with its length in front; it is sent when `stream` is flushed. Raises OSError."""
    stream.write(_LENGTH.pack(len(content)))
    stream.write(content)


def read_frame(stream: IO[bytes]) -> bytes | None:
    """The next frame; None at the end of the stream, even if that is within a frame."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    content = stream.read(length)
    return content if len(content) == length else None

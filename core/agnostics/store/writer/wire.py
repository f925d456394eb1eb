"""How batches travel to the process that commits them: frames of MessagePack, in which a task comes once."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Iterator, Sequence
from typing import IO, Any, Literal

import msgspec

from agnostics.store.records import CompletionRecord, clean
from agnostics.store.writer.thread import Batch
from agnostics.types.task import Task

_LENGTH = struct.Struct("<Q")
PIECE_ROWS = 10
_REMEMBERED = 4096


class Opening(msgspec.Struct, frozen=True):
    """The first thing said: which run of which database, by the parts of its URL, and the process that says it."""

    url: dict[str, Any]
    run: str
    parent: int


class Answer(msgspec.Struct, frozen=True):
    """What is said of a batch: notices, and then that it is committed or that it failed."""

    kind: Literal["committed", "notice", "failed"]
    text: str = ""


class _Piece(msgspec.Struct, frozen=True):
    """Records of a batch. `tasks` are those that were not sent before, by number; `forget` comes before them and says
    that the ones that were are not used any more; `metrics` come with the `last` piece."""

    forget: bool
    tasks: dict[int, bytes]
    records: msgspec.Raw
    metrics: list[tuple[int, str, float]]
    last: bool


class Packer:
    """Makes bytes of batches, at 2 to 4 µs of Python's lock a record."""

    def __init__(self) -> None:
        self._encoder = msgspec.msgpack.Encoder(enc_hook=self._number)
        self._numbers: dict[int, tuple[Task, int]] = {}
        self._new: dict[int, bytes] = {}
        self._given = 0

    def packed(self, batch: Batch) -> Iterator[bytes]:
        """`batch` in pieces, for an `Unpacker` that got all that came before.

        The pieces are small, for whoever else needs Python's lock gets it between two of them.
        """
        records, metrics = batch.records, [(*key, float(value)) for key, value in batch.metrics.items()]
        for start in range(0, max(1, len(records)), PIECE_ROWS):
            last = start + PIECE_ROWS >= len(records)
            yield self._piece(records[start : start + PIECE_ROWS], metrics if last else [], last)

    def _piece(self, records: Sequence[CompletionRecord], metrics: list[tuple[int, str, float]], last: bool) -> bytes:
        forget, self._new = len(self._numbers) > _REMEMBERED, {}
        if forget:
            self._numbers = {}
        packed = msgspec.Raw(self._records(records))
        return msgspec.msgpack.encode(_Piece(forget, self._new, packed, metrics, last))

    def _records(self, records: Sequence[CompletionRecord]) -> bytes:
        try:
            return self._encoder.encode(records)
        except UnicodeEncodeError:  # a model wrote half of a character
            return self._encoder.encode([_readable(record) for record in records])

    def _number(self, task: Task) -> int:
        known = self._numbers.get(id(task))
        if known is None:
            self._given += 1
            known = self._numbers[id(task)] = (task, self._given)
            self._new[self._given] = pickle.dumps(task)
        return known[1]


class Unpacker:
    """Makes batches of the pieces of a `Packer`, in their order."""

    def __init__(self) -> None:
        self._decoder = msgspec.msgpack.Decoder(list[CompletionRecord], dec_hook=lambda _, number: self._tasks[number])
        self._tasks: dict[int, Task] = {}
        self._records: list[CompletionRecord] = []

    def add(self, packed: bytes) -> Batch | None:
        """The batch of which this was the last piece; in it one task is one object."""
        piece = msgspec.msgpack.decode(packed, type=_Piece)
        if piece.forget:
            self._tasks = {}
        self._tasks |= {number: pickle.loads(task) for number, task in piece.tasks.items()}
        self._records += self._decoder.decode(piece.records)
        if not piece.last:
            return None
        records, self._records = self._records, []
        return Batch(records, {(step, name): value for step, name, value in piece.metrics})


def _readable(record: CompletionRecord) -> CompletionRecord:
    """`record` with texts that can be encoded."""
    plain = clean(msgspec.to_builtins(record, enc_hook=lambda _task: None))
    return msgspec.convert(plain, CompletionRecord, dec_hook=lambda _type, _none: record.task)


def write_frame(stream: IO[bytes], content: bytes) -> None:
    """Write `content` so that `read_frame` finds its end; it is sent when `stream` is flushed. Raises OSError."""
    stream.write(_LENGTH.pack(len(content)))
    stream.write(content)


def read_frame(stream: IO[bytes]) -> bytes | None:
    """The next frame; None where the other side has gone, in the middle of one too."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    content = stream.read(length)
    return content if len(content) == length else None

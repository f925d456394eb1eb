"""The process group of a run: the ranks that `torchrun` or `deepspeed` launched to train one model together.

Every rank runs the same loop over the same groups. Each samples and verifies its shard of a batch, then the ranks
gather the rollouts; each trains on its shard of the micro batches, and DeepSpeed reduces their gradients. Rank 0 alone
writes and prints. A process without a launcher is the only rank, and the group then costs nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Event
from typing import TYPE_CHECKING, Any, TypeVar

from agnostics.types.errors import AgnosticsError
from agnostics.util.messages import decode, encode

if TYPE_CHECKING:
    import torch

T = TypeVar("T")

_TIMEOUT = timedelta(hours=1)
"""The timeout of a collective operation: one rank may be building a model or an image."""
_LOST = ("Connection closed by peer", "Connection reset by peer", "Socket closed", "Broken pipe")
"""Messages of gloo when another rank is gone."""


class ReportedByOtherRank(AgnosticsError):
    """A run ended with an error that another rank reports."""

    def __init__(self, exit_code: int) -> None:
        super().__init__("another rank has failed")
        self.exit_code = exit_code


@dataclass(frozen=True, slots=True)
class _Failure:
    """The error of one rank, for the others."""

    text: str
    exit_code: int
    interrupted: bool


@dataclass(frozen=True, slots=True)
class ProcessGroup:
    """This process's rank among `world_size` ranks, `local_world_size` of them on this machine.

    All methods but `shard` are collective: all ranks call them in the same order. They raise RuntimeError if a rank is
    lost.
    """

    rank: int = 0
    world_size: int = 1
    local_rank: int = 0
    local_world_size: int = 1
    group: Any = None
    """A gloo process group of all ranks, for everything but the model's tensors."""
    store: Any = None
    """The key-value store of the rendezvous."""
    is_reporter: Event = field(default_factory=Event, compare=False)
    """Set once this rank is the one that reports an error."""

    @property
    def is_main(self) -> bool:
        """Whether this is rank 0, which writes and prints."""
        return self.rank == 0

    @property
    def sandbox_slots(self) -> int | None:
        """The number of programs that this rank runs at once: its share of the cores; None for all cores."""
        return max(1, len(os.sched_getaffinity(0)) // self.local_world_size) if self.world_size > 1 else None

    def shard(self, items: Sequence[T]) -> Sequence[T]:
        """The items of this rank: every `world_size`-th."""
        return items[self.rank :: self.world_size]

    def all_gather(self, value: T) -> list[T]:
        """The values of all ranks, in their order. Their numbers travel in one tensor of bytes; see `encode`."""
        if self.world_size == 1:
            return [value]
        messages = self._gather_bytes(encode(value))
        return [value if rank == self.rank else decode(message) for rank, message in enumerate(messages)]

    def gather_shards(self, results: Sequence[T]) -> list[T]:
        """The results of all ranks for their shards, in the order of the items before `shard`."""
        shards = self.all_gather(results)
        total = sum(map(len, shards))
        return [shards[place % self.world_size][place // self.world_size] for place in range(total)]

    def all_reduce_sum(self, values: Sequence[float]) -> list[float]:
        """The sums of the ranks' values, element by element."""
        return [sum(column) for column in zip(*self.all_gather(list(values)), strict=True)]

    def _gather_bytes(self, message: bytearray) -> list[memoryview]:
        """The messages of all ranks, in their order. Here `message` is padded to the length of the longest."""
        import torch

        sizes = self._gather_rows(torch.tensor([len(message)])).flatten().tolist()
        message += bytes(max(sizes) - len(message))
        rows = self._gather_rows(torch.frombuffer(message, dtype=torch.uint8))
        return [memoryview(row.numpy())[:size] for row, size in zip(rows, sizes, strict=True)]

    def _gather_rows(self, row: torch.Tensor) -> torch.Tensor:
        """The rows of all ranks: (N,) -> (ranks, N)"""
        import torch.distributed

        rows = row.new_empty(self.world_size, len(row))
        torch.distributed.all_gather(list(rows), row, group=self.group)
        return rows

    def run_on_all(self, work: Callable[[], T]) -> T:
        """The result of `work` here, once every rank has done it; if it fails on one rank, it fails on all.

        Raises KeyboardInterrupt on all of them if one was interrupted.
        """
        if self.world_size == 1:
            return work()
        value, error = None, None
        try:
            value = work()
        except (Exception, KeyboardInterrupt) as raised:
            error = raised
            if isinstance(raised, Exception):
                self.reports_error()
        failures = [failure for failure in self.all_gather(error and _failure(error, self.rank)) if failure]
        failed = next((failure for failure in failures if not failure.interrupted), None)
        if failed and not isinstance(error, Exception):
            raise _error_of(failed)
        if error:
            raise error
        if failures:
            raise KeyboardInterrupt
        return value  # type: ignore[return-value]

    def run_on_main(self, work: Callable[[], T]) -> T:
        """The result of `work` on rank 0, which alone does it."""
        value = self.run_on_all(lambda: work() if self.is_main else None)
        return self.all_gather(value)[0]  # type: ignore[return-value]

    def run_main_first(self, work: Callable[[], T]) -> T:
        """`work` on local rank 0 of every machine, then on the others, which use the files that it has made."""
        is_local_main = self.local_rank == 0
        first = self.run_on_all(lambda: work() if is_local_main else None)
        second = self.run_on_all(lambda: None if is_local_main else work())
        return first if is_local_main else second  # type: ignore[return-value]

    def reports_error(self) -> bool:
        """Whether this rank reports an error: the first rank to call this does."""
        if self.world_size == 1 or self.is_reporter.is_set():
            return True
        with suppress(RuntimeError):  # the rank that held the store is gone
            if self.store.compare_set("agnostics/reporter", "", str(self.rank)) == str(self.rank).encode():
                self.is_reporter.set()
        return self.is_reporter.is_set()


SINGLE_PROCESS = ProcessGroup()
"""The group of a process without a launcher."""


def is_main_rank() -> bool:
    """Whether the environment says that this is rank 0, or the only process."""
    return not _launched() or os.environ["RANK"] == "0"


def select_device() -> None:
    """Make this rank's GPU the current device of the calling thread; without a GPU, do nothing.

    CUDA's current device belongs to a thread: without this, a new thread of any rank computes on GPU 0.
    """
    import torch

    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))


@contextmanager
def join_process_group() -> Iterator[ProcessGroup]:
    """The launcher's process group; `SINGLE_PROCESS` without a launcher, or with only one process.

    An error that leaves the block is raised as it is on the rank that reports it, and as `ReportedByOtherRank` on the
    others.
    """
    if not _launched():
        yield SINGLE_PROCESS
        return
    group = _join()
    try:
        yield group
    except BaseException as error:
        if not group.reports_error():
            raise ReportedByOtherRank(_exit_code(error)) from error
        if is_lost_rank_error(error):
            raise AgnosticsError(
                "another rank ended without an error message (killed, or out of memory?); continue with --resume RUN"
            ) from error
        raise
    _leave(group)


def is_lost_rank_error(error: BaseException) -> bool:
    """Whether `error` was raised because another rank ended without reporting an error."""
    return isinstance(error, RuntimeError) and any(text in str(error) for text in _LOST)


def _launched() -> bool:
    return "MASTER_ADDR" in os.environ and int(os.environ.get("WORLD_SIZE", "1")) > 1


def _join() -> ProcessGroup:
    import torch.distributed
    from torch.distributed.rendezvous import rendezvous

    environment = os.environ
    local_rank, local_size = int(environment["LOCAL_RANK"]), environment.get("LOCAL_WORLD_SIZE")
    select_device()
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    store, rank, size = next(rendezvous("env://", timeout=_TIMEOUT))
    torch.distributed.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=_TIMEOUT)
    group = torch.distributed.new_group(backend="gloo", timeout=_TIMEOUT)
    return ProcessGroup(rank, size, local_rank, int(local_size or environment.get("LOCAL_SIZE", size)), group, store)


def _leave(group: ProcessGroup) -> None:
    """Wait for the other ranks, because one of them holds the store; vLLM may have destroyed the group."""
    import torch.distributed

    if torch.distributed.is_initialized():
        torch.distributed.barrier(group=group.group)
        torch.distributed.destroy_process_group()


def _failure(error: BaseException, rank: int) -> _Failure:
    text = str(error) if isinstance(error, AgnosticsError) else f"rank {rank}: {type(error).__name__}: {error}"
    return _Failure(text, _exit_code(error), isinstance(error, KeyboardInterrupt))


def _exit_code(error: BaseException) -> int:
    return error.exit_code if isinstance(error, AgnosticsError) else 130 if isinstance(error, KeyboardInterrupt) else 1


def _error_of(failure: _Failure) -> AgnosticsError:
    error = AgnosticsError(failure.text)
    error.exit_code = failure.exit_code
    return error

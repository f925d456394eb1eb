"""The ranks of a run: processes that `torchrun` or `deepspeed` started to train one model together.

Every rank runs the same loop over the same groups. Each samples and verifies its share of a batch, then they exchange
what came of it; each learns from its share of the micro batches, and DeepSpeed adds up their gradients. The first rank
alone writes and speaks. A process that nobody launched is the first and only rank, and nothing here costs it anything.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

from agnostics.types.errors import AgnosticsError

T = TypeVar("T")

_PATIENCE = timedelta(hours=1)
"""How long ranks wait for each other: one of them may be making a model, or an image."""
_LOST = ("Connection closed by peer", "Connection reset by peer", "Socket closed", "Broken pipe")
"""What gloo says where another rank is gone."""


class Untold(AgnosticsError):
    """A run ended with an error that another rank tells of."""

    def __init__(self, exit_code: int) -> None:
        super().__init__("another rank has failed")
        self.exit_code = exit_code


@dataclass(frozen=True, slots=True)
class _Failure:
    """What went wrong on one rank, for the others."""

    text: str
    exit_code: int
    interrupted: bool


@dataclass(frozen=True, slots=True)
class Ranks:
    """This process's place among `size` ranks, `local_size` of them on this machine; both count from 0.

    All but `share` are for all ranks to call, in the same order. Raises RuntimeError where a rank is lost.
    """

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    local_size: int = 1
    group: Any = None
    """A gloo process group of all ranks, for what is no tensor of the model."""
    store: Any = None
    """What the launcher's processes met through."""

    @property
    def first(self) -> bool:
        """Whether this is the rank that writes and speaks."""
        return self.rank == 0

    @property
    def slots(self) -> int | None:
        """How many programs this rank runs at once: its share of the processors; None, as many as there are."""
        return max(1, len(os.sched_getaffinity(0)) // self.local_size) if self.size > 1 else None

    def share(self, items: Sequence[T]) -> Sequence[T]:
        """The items that are this rank's: every `size`-th."""
        return items[self.rank :: self.size]

    def gathered(self, value: T) -> list[T]:
        """What every rank gave, in their order."""
        if self.size == 1:
            return [value]
        import torch.distributed

        values: list[Any] = [None] * self.size
        torch.distributed.all_gather_object(values, value, group=self.group)
        return values

    def joined_shares(self, found: Sequence[T]) -> list[T]:
        """What every rank found for its share, in the order of the items that were shared."""
        shares = self.gathered(found)
        total = sum(map(len, shares))
        return [shares[place % self.size][place // self.size] for place in range(total)]

    def summed(self, values: Sequence[float]) -> list[float]:
        """The sums of the ranks' values, place by place."""
        return [sum(column) for column in zip(*self.gathered(list(values)), strict=True)]

    def checked(self, work: Callable[[], T]) -> T:
        """What `work` gives here, once it is done on every rank; where it fails on one, it fails on all.

        Raises KeyboardInterrupt on all of them where one was interrupted.
        """
        if self.size == 1:
            return work()
        value, error = None, None
        try:
            value = work()
        except (Exception, KeyboardInterrupt) as raised:
            error = raised
            if isinstance(raised, Exception):
                self.speaks()
        failures = [failure for failure in self.gathered(error and _described(error, self.rank)) if failure]
        failed = next((failure for failure in failures if not failure.interrupted), None)
        if failed and not isinstance(error, Exception):
            raise _error_of(failed)
        if error:
            raise error
        if failures:
            raise KeyboardInterrupt
        return value  # type: ignore[return-value]

    def agreed(self, work: Callable[[], T]) -> T:
        """What `work` gives the first rank, which alone does it."""
        value = self.checked(lambda: work() if self.first else None)
        return self.gathered(value)[0]  # type: ignore[return-value]

    def in_turn(self, work: Callable[[], T]) -> T:
        """`work` on the first rank of every machine, then on the others, which find what it has made."""
        early = self.local_rank == 0
        one = self.checked(lambda: work() if early else None)
        other = self.checked(lambda: None if early else work())
        return one if early else other  # type: ignore[return-value]

    def speaks(self) -> bool:
        """Whether this rank is the one that tells of an error: the first to ask."""
        if self.size == 1:
            return True
        with suppress(RuntimeError):  # whoever kept the store is gone
            asked = self.store.compare_set("agnostics/speaker", "", str(self.rank))
            return bool(asked == str(self.rank).encode())
        return False


ALONE = Ranks()
"""The only rank."""


def is_first() -> bool:
    """Whether the environment says that this is the first rank, or the only one."""
    return not _launched() or os.environ["RANK"] == "0"


@contextmanager
def joined() -> Iterator[Ranks]:
    """The ranks of the launcher's process group; `ALONE` where there is no launcher, or only one process.

    An error that leaves the block is raised as it is on the rank that tells of it, and as `Untold` on the others.
    """
    if not _launched():
        yield ALONE
        return
    ranks = _join()
    try:
        yield ranks
    except BaseException as error:
        if not ranks.speaks():
            raise Untold(_exit_code(error)) from error
        if another_is_lost(error):
            raise AgnosticsError(
                "another rank ended without a word (killed, or out of memory?); go on with --resume RUN"
            ) from error
        raise
    _leave(ranks)


def another_is_lost(error: BaseException) -> bool:
    """Whether `error` is what is raised where another rank ended without a word."""
    return isinstance(error, RuntimeError) and any(text in str(error) for text in _LOST)


def _launched() -> bool:
    return "MASTER_ADDR" in os.environ and int(os.environ.get("WORLD_SIZE", "1")) > 1


def _join() -> Ranks:
    import torch.distributed
    from torch.distributed.rendezvous import rendezvous

    environment = os.environ
    local_rank, local_size = int(environment["LOCAL_RANK"]), environment.get("LOCAL_WORLD_SIZE")
    if torch.cuda.is_available():
        torch.cuda.set_device(local_rank)
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    store, rank, size = next(rendezvous("env://", timeout=_PATIENCE))
    torch.distributed.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=_PATIENCE)
    group = torch.distributed.new_group(backend="gloo", timeout=_PATIENCE)
    return Ranks(rank, size, local_rank, int(local_size or environment.get("LOCAL_SIZE", size)), group, store)


def _leave(ranks: Ranks) -> None:
    """Wait for the others, for one of them keeps the store; vLLM may have ended the group."""
    import torch.distributed

    if torch.distributed.is_initialized():
        torch.distributed.barrier(group=ranks.group)
        torch.distributed.destroy_process_group()


def _described(error: BaseException, rank: int) -> _Failure:
    text = str(error) if isinstance(error, AgnosticsError) else f"rank {rank}: {type(error).__name__}: {error}"
    return _Failure(text, _exit_code(error), isinstance(error, KeyboardInterrupt))


def _exit_code(error: BaseException) -> int:
    return error.exit_code if isinstance(error, AgnosticsError) else 130 if isinstance(error, KeyboardInterrupt) else 1


def _error_of(failure: _Failure) -> AgnosticsError:
    error = AgnosticsError(failure.text)
    error.exit_code = failure.exit_code
    return error

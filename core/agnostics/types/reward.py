"""Reward policies: from the verifications of one group to its rewards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from agnostics.types.verification import Verdict, Verification


@runtime_checkable
class RewardPolicy(Protocol):
    """Turns the verifications of one group into rewards, one each; `None` leaves a completion out of the loss."""

    @property
    def name(self) -> str: ...

    def rewards(self, group: Sequence[Verification]) -> list[float | None]: ...


class Accepted:
    """1 for an accepted program, 0 for any other (the paper, section 3.3); a failed sandbox says nothing."""

    name = "accepted"

    def rewards(self, group: Sequence[Verification]) -> list[float | None]:
        return [None if v.verdict is Verdict.SANDBOX_ERROR else float(v.accepted) for v in group]

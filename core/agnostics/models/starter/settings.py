"""Size and training length of the starter model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StarterSettings:
    """The size of the model, its training in steps (never seconds), and the share of right answers it sees."""

    vocabulary: int = 1024
    hidden: int = 192
    layers: int = 4
    heads: int = 6
    intermediate: int = 512
    steps: int = 2000
    statement_steps: int = 1400
    """The first steps, in which a message is the statement alone: to copy from a short text is soon learnt, and it is
    kept when what the language's prompt says comes before it."""
    batch: int = 8
    learning_rate: float = 3e-3
    right_share: float = 0.12
    wrong: int = 3
    """Wrong programs of each kind: few, so that the model learns each as well as the right one, and prefers them."""


DEFAULTS = StarterSettings()

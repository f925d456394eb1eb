"""What one session may ask of the gateway."""

from __future__ import annotations

from dataclasses import dataclass

MAX_CONNECTIONS = 64
"""Connections at once; others are closed as they come. An idle one takes a place, and nothing else."""


@dataclass(frozen=True, slots=True)
class GatewayLimits:
    """The limits of a session's calls. A call that finds `concurrent` others waits for its turn."""

    output_tokens: int = 32_768
    """Of one reply; a request for more gets as many."""
    request_bytes: int = 16 << 20
    concurrent: int = 8
    """Calls of the model at once."""
    turn_s: float = 60.0
    """The time for which a call waits for its turn, and in which its body must arrive."""
    call_s: float = 900.0
    """The time of a call, from its first byte to the last one of its reply."""

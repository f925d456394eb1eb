"""The limits of a trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from agnostics.types.task import Frozen


class TraceLimits(Frozen):
    """The sizes at which a trace is cut; the program goes on."""

    events: Annotated[int, Field(ge=1, le=10_000_000)] = 100_000
    depth: Annotated[int, Field(ge=0, le=1000)] = 100
    """Scopes within more than this many others are not traced."""
    value: Annotated[int, Field(ge=1, le=100_000)] = 1000
    """Characters of one value."""
    bytes: Annotated[int, Field(ge=1000, le=60 << 20)] = 16 << 20
    """Bytes of the file that the tracer writes."""

    def environment(self) -> Mapping[str, str]:
        """The environment variables that tell a tracer."""
        return {f"AGN_TRACE_{name.upper()}": str(value) for name, value in self.model_dump().items()}

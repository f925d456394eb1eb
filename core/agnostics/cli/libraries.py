"""Environment variables for torch, transformers and their dependencies, set before their import."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from agnostics.types.errors import MissingRequirement

_ENVIRONMENT = {
    "TORCH_CPP_LOG_LEVEL": "ERROR",
    "TRANSFORMERS_VERBOSITY": "error",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_VERBOSITY": "error",
    "TOKENIZERS_PARALLELISM": "false",
    # Idle OpenMP threads spin a thousand times, some microseconds, and then sleep. Longer spinning takes cores from the
    # programs being verified; with no spinning, waking the threads takes a third of a small model's update. With more
    # threads than cores, GNU's OpenMP honours the count only under the active policy. Intel's, if it is preloaded,
    # would then spin forever, so its block time is 0.
    "OMP_WAIT_POLICY": "ACTIVE",
    "GOMP_SPINCOUNT": "1000",
    "KMP_BLOCKTIME": "0",
}


def configure_libraries() -> None:
    """Set the environment variables that are not set already."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)


@contextmanager
def training_packages() -> Iterator[None]:
    """Raise MissingRequirement if a package that training needs is missing in the block."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingRequirement(f"{error.name} is not installed; run: pip install 'agnostics[train]'") from error

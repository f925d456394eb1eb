"""How torch, transformers and their like are told to behave, before they are imported."""

from __future__ import annotations

import os

_ENVIRONMENT = {
    "TORCH_CPP_LOG_LEVEL": "ERROR",
    "TRANSFORMERS_VERBOSITY": "error",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_VERBOSITY": "error",
    "TOKENIZERS_PARALLELISM": "false",
    # Threads that spin for long take the cores from the programs being verified, and where they sleep at once, a third
    # of a small model's update goes by in waking them: a thousand turns, some microseconds, and then sleep. With more
    # threads than cores, GNU's OpenMP keeps to few turns of its own unless the policy is an active one; Intel's, where
    # it is preloaded, would then spin for ever.
    "OMP_WAIT_POLICY": "ACTIVE",
    "GOMP_SPINCOUNT": "1000",
    "KMP_BLOCKTIME": "0",
}


def settle_libraries() -> None:
    """Set what these libraries read from the environment, where it is not set already."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)

"""How torch, transformers and their like are told to behave, before they are imported."""

from __future__ import annotations

import os

_ENVIRONMENT = {
    "TORCH_CPP_LOG_LEVEL": "ERROR",
    "TRANSFORMERS_VERBOSITY": "error",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_VERBOSITY": "error",
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_WAIT_POLICY": "PASSIVE",  # threads that spin take the cores from the programs being verified
}


def settle_libraries() -> None:
    """Set what these libraries read from the environment, where it is not set already."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)

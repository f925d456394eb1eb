"""What integration tests share: the starter model, made once and kept in the user's cache."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def starter_model() -> Path:
    """The folder of the starter model for Lua, as `agn model bootstrap` makes it."""
    agn = [sys.executable, "-c", "from agnostics.cli import main; main()"]
    command = [*agn, "model", "bootstrap", "--language", "lua", "--sandbox", "bubblewrap", "--json"]
    answer = subprocess.run(command, check=True, capture_output=True, text=True, timeout=900)
    return Path(json.loads(answer.stdout)["model"])


@pytest.fixture(scope="session")
def tiny_model(starter_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Makes folders of random small Qwen3 models with the starter's tokenizer."""

    def make(*, tied: bool, vocabulary: int | None = None) -> Path:
        import torch
        from transformers import AutoConfig, AutoModelForCausalLM

        folder = tmp_path_factory.mktemp("tiny")
        shutil.copytree(starter_model, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.safetensors"))
        config = AutoConfig.from_pretrained(starter_model, tie_word_embeddings=tied, num_hidden_layers=2)
        config.vocab_size = vocabulary or config.vocab_size
        config.layer_types = config.layer_types[:2]
        torch.manual_seed(0)
        AutoModelForCausalLM.from_config(config).save_pretrained(folder)
        return folder

    return make

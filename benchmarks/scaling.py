"""Scaling laws of small models on programs in Lua: design, runs and fit, with the commands that a user has.

python benchmarks/scaling.py --folder FOLDER

Models of several sizes start from random weights, with the tokenizer of the starter model, and are trained on right
programs for tasks of the starter data set with the same number of tokens per parameter. The validation examples are
programs for held-out tasks. What is done stays in FOLDER, so that the same command continues after an interrupt.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from agnostics.cli import call
from agnostics.models.flop import training_flop
from agnostics.models.resolve import resolve_model
from agnostics.plugins.manager import load_plugins

LANGUAGE = "lua"
SIZES = ((32, 2), (48, 2), (64, 3))
"""Hidden dimension and layers of each scale."""
HEAD = 16
TOKENS_PER_PARAMETER = 0.25
CANDIDATES = 8
BATCHES, RATES = (256, 1024), (2e-3, 6e-2)
"""The ranges of the smallest model; batches grow and rates fall by a step from scale to scale."""
BATCH_STEP, RATE_STEP = 1.3, 0.85
EXAMPLES = {"train": 1000, "test": 100}


class ScalingBench:
    """Designs and trains in `folder`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._store = folder, f"sqlite:///{folder / 'results.db'}"
        self._designed = folder / "design"

    def run(self) -> None:
        """Make what is missing, and print the fit."""
        if not self._designed.is_dir():
            self._design()
        for config in sorted(self._designed.glob("*.toml")):
            done = config.with_suffix(".done")
            if not done.is_file():
                _agn("sft", str(config), "--store", self._store)
                done.touch()
        plot = self._folder / "laws.svg"
        _agn("scaling", "fit", "--store", self._store, "--plot", str(plot))

    def _design(self) -> None:
        for split, count in EXAMPLES.items():
            lines = (json.dumps(one) for one in islice(_examples(split), count))
            (self._folder / f"{split}.jsonl").write_text("".join(f"{line}\n" for line in lines))
        base, design = self._folder / "sft.toml", self._folder / "design.toml"
        base.write_text(
            f'language = "{LANGUAGE}"\noutput = "{self._folder / "runs"}"\n'
            f'[[sources]]\npath = "{self._folder / "train.jsonl"}"\n'
            f'[validation]\npath = "{self._folder / "test.jsonl"}"\n'
        )
        scales = "".join(self._scale(number, hidden, layers) for number, (hidden, layers) in enumerate(SIZES))
        design.write_text(f'config = "{base}"\ncandidates = {CANDIDATES}\n{scales}')
        _agn("scaling", "design", str(design), "-o", str(self._designed))

    def _scale(self, number: int, hidden: int, layers: int) -> str:
        model = _new_model(self._folder / f"model-{hidden}-{layers}", hidden, layers)
        low, high = (round(end * BATCH_STEP**number) for end in BATCHES)
        slow, fast = (end * RATE_STEP**number for end in RATES)
        tokens = round(TOKENS_PER_PARAMETER * training_flop(model).parameters)
        return (
            f'[[scales]]\nmodel = "{model}"\ntokens = {tokens}\n'
            f"batch_tokens = [{low}, {high}]\nlearning_rate = [{slow}, {fast}]\n"
        )


def _examples(split: Any) -> Iterator[dict[str, str]]:
    """Right programs for the tasks of a split, with their prompts."""
    plugins = load_plugins()
    language, (dataset, _) = plugins.language(LANGUAGE), plugins.dataset("starter")
    for task in dataset.tasks(split, seed=0):
        program = language.reference_for(task)
        if program is not None:
            yield {"prompt": language.prompt_for(task), "completion": f"```{LANGUAGE}\n{program}```"}


def _new_model(folder: Path, hidden: int, layers: int) -> Path:
    """A model with random weights, and the tokenizer of the starter model."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    starter = resolve_model("starter", load_plugins(), LANGUAGE)
    shutil.copytree(starter, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.safetensors"))
    config: Any = AutoConfig.from_pretrained(
        starter,
        hidden_size=hidden,
        num_hidden_layers=layers,
        intermediate_size=8 * hidden // 3,
        num_attention_heads=hidden // HEAD,
        num_key_value_heads=hidden // HEAD,
        head_dim=HEAD,
        layer_types=["full_attention"] * layers,
    )
    torch.manual_seed(0)
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    return folder


def _agn(*words: str) -> None:
    """Run a command of `agn` in this process, so that the libraries are loaded once."""
    status = call(list(words))
    if status:
        raise SystemExit(status)


def main() -> None:
    """Run the experiment."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="where runs and results are kept")
    ScalingBench(parser.parse_args().folder.resolve()).run()


if __name__ == "__main__":
    main()

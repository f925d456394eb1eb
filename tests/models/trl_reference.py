"""TRL's GRPOTrainer on a frozen batch: `python trl_reference.py BATCH RESULTS`, in a process of its own.

BATCH (torch.save) holds the model's folder, that of the reference model, the prompts, completions, masks, the engine's
log-probabilities and the rewards, and for each case the settings of a GRPOConfig. RESULTS gets, for each case,
loss, gradients and advantages.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer


def main(batch_path: Path, results_path: Path) -> None:
    """Compute the results of every case of the batch."""
    batch = torch.load(batch_path, weights_only=False)
    results = {name: _result(batch, case) for name, case in batch["cases"].items()}
    torch.save(results, results_path)


def _result(batch: dict[str, Any], case: dict[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        trainer = _trainer(batch, case, folder)
        trainer.current_gradient_accumulation_steps = 1  # which `train` would set
        trainer.use_vllm = case["config"].get("vllm_importance_sampling_correction", False)
        inputs = trainer._generate_and_score_completions([{"prompt": "p"}] * len(batch["completions"]))
        advantages = inputs["advantages"].clone()
        inputs["advantages"] = torch.tensor(case["advantages"])
        if not trainer.use_vllm:
            inputs["old_per_token_logps"] = _padded(batch["logprobs"])
        with torch.no_grad():
            for weight in trainer.model.parameters():
                weight.mul_(case["drift"])
        loss = trainer.compute_loss(trainer.model, inputs)
        loss.backward()
        gradients = {name: weight.grad for name, weight in trainer.model.named_parameters()}
        return {"loss": loss.item(), "gradients": gradients, "advantages": advantages.tolist()}


def _trainer(batch: dict[str, Any], case: dict[str, Any], folder: str) -> GRPOTrainer:
    """A trainer that samples the frozen completions instead of those of its model."""
    size = len(batch["completions"])
    settings = {
        "output_dir": folder,
        "per_device_train_batch_size": size,
        "num_generations": batch["group"],
        "gradient_accumulation_steps": 1,
        "gradient_checkpointing": False,
        "max_completion_length": batch["limit"],
        "temperature": batch["temperature"],
        "use_cpu": True,
        "bf16": False,
        "report_to": "none",
        "beta": 0.0,
        "use_bias_correction_kl": False,  # the estimator as GRPO has it
        "vllm_importance_sampling_correction": False,
    }
    trainer = GRPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(batch["folder"], dtype=torch.float32),
        reward_funcs=lambda **_: batch["rewards"],
        args=GRPOConfig(**{**settings, **case["config"]}),
        train_dataset=Dataset.from_dict({"prompt": ["p"] * size}),
        processing_class=AutoTokenizer.from_pretrained(batch["folder"]),
    )
    if trainer.beta:
        trainer.ref_model.load_state_dict(AutoModelForCausalLM.from_pretrained(batch["reference"]).state_dict())
    trainer.model.train()
    sampled: Any = (
        batch["prompts"],
        batch["completions"],
        batch["masks"],
        ["a"] * size,
        batch["logprobs"],
        {},
        None,
        None,
    )
    trainer._generate = lambda _: sampled
    return trainer


def _padded(rows: list[list[float]]) -> torch.Tensor:
    return torch.nn.utils.rnn.pad_sequence(list(map(torch.tensor, rows)), batch_first=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))

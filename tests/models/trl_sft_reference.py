"""TRL's SFTTrainer on a frozen batch: `python trl_sft_reference.py BATCH RESULTS`, in a process of its own.

BATCH (torch.save) holds the model's folder, and the token ids and masks of examples. RESULTS gets loss and gradients.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import SFTConfig, SFTTrainer


def main(batch_path: Path, results_path: Path) -> None:
    """Compute the loss of all examples in one batch, padded, and its gradients."""
    batch = torch.load(batch_path, weights_only=False)
    examples = {"input_ids": batch["token_ids"], "completion_mask": batch["masks"]}
    with tempfile.TemporaryDirectory() as folder:
        trainer = SFTTrainer(
            model=AutoModelForCausalLM.from_pretrained(batch["folder"], dtype=torch.float32),
            args=SFTConfig(
                output_dir=folder,
                per_device_train_batch_size=len(batch["masks"]),
                gradient_checkpointing=False,
                completion_only_loss=True,
                max_length=None,
                use_cpu=True,
                bf16=False,
                report_to="none",
            ),
            train_dataset=Dataset.from_dict(examples),
            processing_class=AutoTokenizer.from_pretrained(batch["folder"]),
        )
        trainer.model.train()
        (inputs,) = trainer.get_train_dataloader()
        loss = trainer.compute_loss(trainer.model, dict(inputs))
        loss.backward()
        gradients = {name: weight.grad for name, weight in trainer.model.named_parameters()}
        torch.save({"loss": loss.item(), "gradients": gradients}, results_path)


main(Path(sys.argv[1]), Path(sys.argv[2]))

"""TRL's GRPOTrainer, rewarded by the verifier: a completion is worth 1 if its program passes the tests, and else 0.

    agn verify --serve &
    python examples/trl_grpo.py --tasks tasks.jsonl --model Qwen/Qwen2.5-Coder-0.5B-Instruct

A line of the tasks is {"prompt": "...", "language": "lua", "tests": [{"input": "41", "output": "42"}]}, where the
prompt asks for a program in a code block. AGN_VERIFY_URL names another server than http://127.0.0.1:8001, and
AGN_VERIFY_TOKEN is its token. Needs `pip install trl`; of Agnostics only the server.
"""

from __future__ import annotations

import argparse
import json
import os
from typing import Any
from urllib.request import Request, urlopen

URL = os.environ.get("AGN_VERIFY_URL", "http://127.0.0.1:8001")
TOKEN = os.environ.get("AGN_VERIFY_TOKEN")
TIMEOUT_S = 600
"""The longest time without a reply."""


def verified(requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The replies to requests, in their order. Raises OSError or HTTPException if there are not as many."""
    headers = {"Content-Type": "application/x-ndjson"} | ({"Authorization": f"Bearer {TOKEN}"} if TOKEN else {})
    body = "".join(json.dumps({**request, "id": number}) + "\n" for number, request in enumerate(requests))
    with urlopen(Request(f"{URL}/verify", body.encode(), headers), timeout=TIMEOUT_S) as response:
        replies = [json.loads(line) for line in response.read().splitlines()]
    for reply in replies:
        if "verdict" not in reply:
            raise ValueError(f"a request was refused: {reply['error']}")
    return sorted(replies, key=lambda reply: reply["id"])


def passes_tests(
    completions: list[Any], language: list[str], tests: list[list[dict[str, str]]], **_: Any
) -> list[float | None]:
    """The rewards of a step's completions, all in one request; `language` and `tests` are columns of the data set.

    None is no reward, as the sandbox failed and not the program: TRL then leaves the completion out of its group.
    """
    texts = [text if isinstance(text, str) else text[-1]["content"] for text in completions]
    requests = [
        {"language": name, "completion": text, "tests": its_tests, "stop_on_failure": True}
        for name, text, its_tests in zip(language, texts, tests, strict=True)
    ]
    verdicts = [reply["verdict"] for reply in verified(requests)]
    return [None if verdict == "sandbox_error" else float(verdict == "accepted") for verdict in verdicts]


def main() -> None:
    """Train a model on the tasks of a file."""
    import torch
    from datasets import load_dataset
    from trl import GRPOConfig, GRPOTrainer

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", required=True, help="a file of JSON lines")
    parser.add_argument("--model", default="Qwen/Qwen2.5-Coder-0.5B-Instruct")
    parser.add_argument("--output", default="trl-output", help="the folder of checkpoints")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--prompts", type=int, default=4, help="prompts in a step")
    parser.add_argument("--group", type=int, default=8, help="completions of a prompt")
    parser.add_argument("--tokens", type=int, default=512, help="most tokens of a completion")
    chosen = parser.parse_args()
    on_gpu = torch.cuda.is_available()
    config = GRPOConfig(
        output_dir=chosen.output,
        max_steps=chosen.steps,
        num_generations=chosen.group,
        per_device_train_batch_size=chosen.group,
        gradient_accumulation_steps=chosen.prompts,
        max_completion_length=chosen.tokens,
        logging_steps=1,
        report_to="none",
        bf16=on_gpu,
        use_cpu=not on_gpu,
    )
    tasks = load_dataset("json", data_files=chosen.tasks, split="train")
    GRPOTrainer(model=chosen.model, reward_funcs=passes_tests, args=config, train_dataset=tasks).train()


if __name__ == "__main__":
    main()

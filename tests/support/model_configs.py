"""What decides the memory of the paper's models, from the config.json of each on the hub."""

from __future__ import annotations

import json
from pathlib import Path

MODELS = {
    "Qwen/Qwen3-4B": {
        "model_type": "qwen3",
        "hidden_size": 2560,
        "intermediate_size": 9728,
        "num_hidden_layers": 36,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "vocab_size": 151936,
        "tie_word_embeddings": True,
    },
    "Qwen/Qwen3-8B": {
        "model_type": "qwen3",
        "hidden_size": 4096,
        "intermediate_size": 12288,
        "num_hidden_layers": 36,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "vocab_size": 151936,
        "tie_word_embeddings": False,
    },
    "deepseek-ai/deepseek-coder-6.7b-instruct": {
        "model_type": "llama",
        "hidden_size": 4096,
        "intermediate_size": 11008,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 32,
        "vocab_size": 32256,
        "tie_word_embeddings": False,
    },
    "microsoft/Phi-4-mini-instruct": {
        "model_type": "phi3",
        "hidden_size": 3072,
        "intermediate_size": 8192,
        "num_hidden_layers": 32,
        "num_attention_heads": 24,
        "num_key_value_heads": 8,
        "vocab_size": 200064,
        "tie_word_embeddings": True,
        "pad_token_id": 199999,
    },
    "Qwen/Qwen2.5-Coder-0.5B-Instruct": {
        "model_type": "qwen2",
        "hidden_size": 896,
        "intermediate_size": 4864,
        "num_hidden_layers": 24,
        "num_attention_heads": 14,
        "num_key_value_heads": 2,
        "vocab_size": 151936,
        "tie_word_embeddings": True,
    },
}
PARAMETERS = [4_022_468_096, 8_190_735_360, 6_740_512_768, 3_836_021_760, 494_032_768]


def config_folder(model: str, folder: Path) -> Path:
    """`folder`, with the config.json of `model` in it."""
    (folder / "config.json").write_text(json.dumps(MODELS[model]))
    return folder

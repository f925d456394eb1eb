"""The paper's model families, as the hub has their configurations and tokenizers, made small.

Special tokens have their real names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

BEGIN, END = "<\uff5cbegin\u2581of\u2581sentence\uff5c>", "<\uff5cend\u2581of\u2581sentence\uff5c>"
SMALL = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "hidden_act": "silu",
    "initializer_range": 0.2,  # attention that is far from even, so that a wrong position shows
    "rms_norm_eps": 1e-5,
    "torch_dtype": "float32",
}
DEEPSEEK = """\
{%- set ns = namespace(found=false) -%}
{%- for message in messages -%}
    {%- if message['role'] == 'system' -%}
        {%- set ns.found = true -%}
    {%- endif -%}
{%- endfor -%}
{{bos_token}}{%- if not ns.found -%}
{{'You are an AI programming assistant.\\n'}}
{%- endif %}
{%- for message in messages %}
    {%- if message['role'] == 'user' %}
{{'### Instruction:\\n' + message['content'] + '\\n'}}
    {%- endif %}
{%- endfor %}
{% if add_generation_prompt %}
{{'### Response:'}}
{% endif %}"""
"""The template of deepseek-ai/deepseek-coder-6.7b-instruct without what one message of a user does not need."""
PHI = (
    "{% for message in messages %}{% if message['role'] == 'system' and 'tools' in message and message['tools'] is not "
    "none %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|tool|>' + message['tools'] + '<|/tool|>' + "
    "'<|end|>' }}{% else %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% else %}{{ eos_token }}{% endif %}"
)
"""The template of microsoft/Phi-4-mini-instruct (MIT)."""
TEXT = "Use Lua 5.1.\n\nRead two integers  and print their sum.\n\tlocal a, b = io.read('*n', '*n')\n"


@dataclass(frozen=True)
class Family:
    """A model as the hub has it: config.json, tokenizer_config.json, the ends named in generation_config.json.

    `prompt` is what its template makes of `TEXT`; `begin` is the token that its tokenizer puts before a plain text.
    """

    config: dict[str, Any]
    tokenizer: dict[str, Any]
    template: Callable[[], str]
    special: Sequence[str]
    generation: Sequence[str]
    ends: Sequence[str]
    prompt: str
    begin: str | None = None


def _from_trl(name: str) -> Callable[[], str]:
    """A template that TRL carries as the model has it."""
    return lambda: (files("trl") / "chat_templates" / name).read_text(encoding="utf-8")


def _from_mistral_common(version: str) -> Callable[[], str]:
    """The template that Mistral's own package makes for a version of its tokenizer."""

    def template() -> str:
        from mistral_common.integrations.chat_templates.template_generator import TemplateConfig, build_chat_template
        from mistral_common.tokens.tokenizers.base import TokenizerVersion

        text: str = build_chat_template(TemplateConfig(TokenizerVersion(version), use_special_token_variables=True))
        return text

    return template


def mistral(version: str) -> Family:
    """A model of Mistral, which is not the paper's, whose tokenizer has this version."""
    return Family(
        config={"architectures": ["MistralForCausalLM"], "model_type": "mistral", "tie_word_embeddings": False},
        tokenizer={"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>"},
        template=_from_mistral_common(version),
        special=[
            *("<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"),
            *("[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"),
            *("[TOOL_CONTENT]", "[ARGS]", "[CALL_ID]", "[THINK]", "[/THINK]"),
        ],
        generation=["</s>"],
        ends=["</s>"],
        prompt=f"<s>[INST]{TEXT.strip()}[/INST]",
        begin="<s>",
    )


FAMILIES = {
    "qwen3": Family(
        config={
            "architectures": ["Qwen3ForCausalLM"],
            "model_type": "qwen3",
            "head_dim": 32,
            "max_position_embeddings": 40960,
            "rope_theta": 1000000,
            "rope_scaling": None,
            "tie_word_embeddings": True,
        },
        tokenizer={"tokenizer_class": "Qwen2Tokenizer", "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"},
        template=_from_trl("qwen3.jinja"),
        special=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        generation=["<|im_end|>", "<|endoftext|>"],
        ends=["<|im_end|>", "<|endoftext|>"],
        prompt=f"<|im_start|>user\n{TEXT.strip()}<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
    ),
    "llama3.2": Family(
        config={
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "head_dim": 32,
            "max_position_embeddings": 131072,
            "rope_theta": 500000.0,
            "rope_scaling": {
                "factor": 32.0,
                "high_freq_factor": 4.0,
                "low_freq_factor": 1.0,
                "original_max_position_embeddings": 64,  # among what the model reads, as 8192 is for the large one
                "rope_type": "llama3",
            },
            "tie_word_embeddings": True,
        },
        tokenizer={
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": "<|begin_of_text|>",
            "eos_token": "<|eot_id|>",
        },
        template=_from_trl("llama3_2.jinja"),
        special=[
            *("<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>"),
            *("<|eom_id|>", "<|eot_id|>"),
        ],
        generation=["<|end_of_text|>", "<|eom_id|>", "<|eot_id|>"],
        ends=["<|end_of_text|>", "<|eom_id|>", "<|eot_id|>"],
        prompt="<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: December 2023\n"
        "Today Date: 26 Jul 2024\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n"
        f"{TEXT.strip()}<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
        begin="<|begin_of_text|>",
    ),
    "deepseek-coder": Family(
        config={
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "max_position_embeddings": 16384,
            "rope_theta": 100000,
            "rope_scaling": {"factor": 4.0, "type": "linear"},
            "tie_word_embeddings": False,
        },
        tokenizer={
            "tokenizer_class": "LlamaTokenizerFast",
            "add_bos_token": True,
            "bos_token": {"__type": "AddedToken", "content": BEGIN, "normalized": True},
            "eos_token": {"__type": "AddedToken", "content": "<|EOT|>", "normalized": True},
            "pad_token": {"__type": "AddedToken", "content": END, "normalized": True},
        },
        template=lambda: DEEPSEEK,
        special=[BEGIN, END, "<|EOT|>"],
        generation=["<|EOT|>"],
        ends=["<|EOT|>", END],
        prompt=f"{BEGIN}You are an AI programming assistant.\n### Instruction:\n{TEXT.strip()}\n### Response:\n",
        begin=BEGIN,
    ),
    "phi4-mini": Family(
        config={
            "architectures": ["Phi3ForCausalLM"],
            "auto_map": {
                "AutoConfig": "configuration_phi3.Phi3Config",
                "AutoModelForCausalLM": "modeling_phi3.Phi3ForCausalLM",
                "AutoTokenizer": "Xenova/gpt-4o",
            },
            "model_type": "phi3",
            "max_position_embeddings": 8192,
            "original_max_position_embeddings": 256,
            "partial_rotary_factor": 0.75,
            "rope_theta": 10000.0,
            "rope_scaling": {
                "type": "longrope",
                "short_factor": [1.0 + 0.05 * place for place in range(12)],
                "long_factor": [1.0 + 2.5 * place for place in range(12)],
            },
            "sliding_window": 262144,
            "tie_word_embeddings": True,
            "pad_token_id": 0,
        },
        tokenizer={
            "tokenizer_class": "GPT2Tokenizer",
            "add_bos_token": False,
            "bos_token": "<|endoftext|>",
            "eos_token": "<|endoftext|>",
            "pad_token": "<|endoftext|>",
        },
        template=lambda: PHI,
        special=["<|endoftext|>", "<|assistant|>", "<|end|>", "<|user|>", "<|system|>"],
        generation=["<|end|>", "<|endoftext|>"],
        ends=["<|end|>", "<|endoftext|>"],
        prompt=f"<|user|>{TEXT.strip()}<|end|><|assistant|>",
    ),
}


def save_tokenizer(family: Family, folder: Path) -> dict[str, int]:
    """A byte-level BPE as all of these are; returns the ids of its special tokens."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=288, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator([TEXT], trainer)
    tokenizer.add_special_tokens(list(family.special))
    tokenizer.add_tokens([AddedToken(name, special=False) for name in ("<think>", "</think>") if name in family.prompt])
    if family.begin:
        single = (family.begin, tokenizer.token_to_id(family.begin))
        tokenizer.post_processor = processors.TemplateProcessing(single=f"{family.begin} $A", special_tokens=[single])
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {**family.tokenizer, "chat_template": family.template()}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return {name: cast("int", tokenizer.token_to_id(name)) for name in family.special}


def save_model(family: Family, folder: Path, ids: dict[str, int]) -> None:
    """Random weights, and the files beside them as they are on the hub: `save_pretrained` has a newer form."""
    import torch
    from safetensors.torch import save_file
    from transformers import AutoConfig, AutoModelForCausalLM

    eos = ids[family.generation[0]]
    config = {**SMALL, **family.config, "vocab_size": 300, "eos_token_id": eos}
    (folder / "config.json").write_text(json.dumps(config))
    ends = [ids[name] for name in family.generation]
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": ends if len(ends) > 1 else eos}))
    torch.manual_seed(0)
    model: Any = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder))
    weights = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})

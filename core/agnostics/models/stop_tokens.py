"""The model families of the paper (section 4.3): the tokens with which an answer ends in each."""

from __future__ import annotations

END_TOKENS: dict[str, tuple[str, ...]] = {
    "qwen2": ("<|im_end|>", "<|endoftext|>"),
    "qwen3": ("<|im_end|>", "<|endoftext|>"),
    "llama": ("<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|EOT|>", "<\uff5cend\u2581of\u2581sentence\uff5c>"),
    "phi3": ("<|end|>", "<|endoftext|>"),
}
"""By the `model_type` of config.json, the end of a turn and the end of a text; each model has those of its own.

Qwen 3 and Phi 4 Mini have a type to themselves; Llama 3.2 and DeepSeek Coder are both of the type `llama`. A name ends
answers in the families that it stands for alone: elsewhere `<|end|>` goes between the parts of one answer.
"""

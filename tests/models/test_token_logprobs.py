"""Log-probabilities in chunks, and activations that are computed again: the same numbers with less memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from agnostics.models import token_logprobs
from agnostics.models.token_logprobs import TokenLogprobModel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from transformers import AutoModelForCausalLM, MistralConfig, PhiConfig, PretrainedConfig, Qwen3Config

VOCABULARY, TEMPERATURE = 500, 0.7
SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "attention_dropout": 0.5,  # which must never happen
    "eos_token_id": 1,
    "bos_token_id": 1,
    "pad_token_id": 1,
}
MODELS: dict[str, Callable[[], PretrainedConfig]] = {
    "tied": lambda: Qwen3Config(**SIZES, head_dim=16, tie_word_embeddings=True),
    "untied": lambda: Qwen3Config(**SIZES, head_dim=16, tie_word_embeddings=False),
    "head with a bias": lambda: PhiConfig(**SIZES),
    "window within the prompt": lambda: MistralConfig(**SIZES, head_dim=16, sliding_window=5),
    "window of the prompt and more": lambda: MistralConfig(**SIZES, head_dim=16, sliding_window=14),
}
PROMPT = torch.arange(5, 17)
TOKENS = torch.arange(100, 160).reshape(4, 15)
LENGTHS = (15, 9, 1, 15)
MASK = torch.ones_like(TOKENS).index_fill(1, torch.tensor([3, 4]), 0)
MASK *= torch.arange(TOKENS.shape[1]) < torch.tensor(LENGTHS).unsqueeze(-1)
WEIGHTS = torch.linspace(-1, 1, int(MASK.sum()))


def _model(name: str) -> Any:
    torch.manual_seed(0)
    model: Any = AutoModelForCausalLM.from_config(MODELS[name]()).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.normal_(std=0.3)
    return model


def _plain(model: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """From all logits of each completion after its prompt."""
    whole = torch.cat([PROMPT.expand(len(TOKENS), -1), TOKENS], dim=1)
    logprobs = (model(whole).logits[:, len(PROMPT) - 1 : -1] / TEMPERATURE).log_softmax(-1)
    entropies = -(logprobs.exp() * logprobs).sum(-1)
    return logprobs.gather(-1, TOKENS.unsqueeze(-1)).squeeze(-1)[MASK.bool()], entropies[MASK.bool()]


def _gradients(model: Any, logprobs: torch.Tensor) -> dict[str, torch.Tensor]:
    torch.autograd.backward((logprobs * WEIGHTS).sum())
    return {name: weight.grad.clone() for name, weight in model.named_parameters()}


@pytest.mark.parametrize("recompute", [False, True], ids=["kept", "recomputed"])
@pytest.mark.parametrize("chunk", [1, 7, 1000])
@pytest.mark.parametrize("name", MODELS)
def test_logprobs_and_gradients_are_those_of_all_logits(
    name: str, chunk: int, recompute: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token_logprobs, "LOGITS_PER_CHUNK", VOCABULARY * chunk)
    plain, model = _model(name), _model(name)
    expected, entropies = _plain(plain)
    found = TokenLogprobModel(model, TEMPERATURE, recompute=recompute)(PROMPT, TOKENS, MASK)
    assert torch.allclose(found[0], expected, atol=1e-5)
    assert torch.allclose(found[1], entropies, atol=1e-5)
    assert not found[1].requires_grad
    gradients = _gradients(model, found[0])
    for key, gradient in _gradients(plain, expected).items():
        assert torch.allclose(gradients[key], gradient, atol=1e-4, rtol=1e-4), key


@pytest.mark.parametrize("chunk", [7, 1000])
def test_gradients_of_entropies_are_those_of_all_logits(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_logprobs, "LOGITS_PER_CHUNK", VOCABULARY * chunk)
    plain, model = _model("tied"), _model("tied")
    logprobs, entropies = TokenLogprobModel(model, TEMPERATURE, entropy_gradient=True)(PROMPT, TOKENS, MASK)
    expected = _plain(plain)
    assert torch.allclose(entropies, expected[1], atol=1e-5)
    gradients = _gradients(model, logprobs + entropies)
    for key, gradient in _gradients(plain, expected[0] + expected[1]).items():
        assert torch.allclose(gradients[key], gradient, atol=1e-4, rtol=1e-4), key


@pytest.mark.parametrize("recompute", [False, True], ids=["kept", "recomputed"])
def test_a_layer_computes_the_prompt_once_and_no_padding(recompute: bool) -> None:
    model = _model("tied")
    sizes: list[int] = []
    model.model.layers[1].mlp.register_forward_pre_hook(lambda _, inputs: sizes.append(inputs[0][..., 0].numel()))
    TokenLogprobModel(model, TEMPERATURE, recompute=recompute)(PROMPT, TOKENS, MASK)
    assert sizes == [len(PROMPT) + sum(LENGTHS) - len(LENGTHS)]  # the last token of a completion predicts nothing


def test_one_token_after_the_prompt_is_scored() -> None:
    found, _ = TokenLogprobModel(_model("tied"), TEMPERATURE)(PROMPT, TOKENS[:, :1], MASK[:, :1])
    logits = _model("tied")(PROMPT.unsqueeze(0)).logits[0, -1] / TEMPERATURE
    assert torch.allclose(found, logits.log_softmax(-1)[TOKENS[:, 0]], atol=1e-5)


class Largest(TorchDispatchMode):
    """Remembers the largest tensor that an operation made, in numbers."""

    size = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        self.size = max([self.size, *(leaf.numel() for leaf in tree_leaves(made) if isinstance(leaf, torch.Tensor))])
        return made


@pytest.mark.parametrize("chunk", [4, 20])
def test_no_tensor_is_ever_larger_than_a_chunk_of_logits(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_logprobs, "LOGITS_PER_CHUNK", VOCABULARY * chunk)
    model = _model("untied")
    with Largest() as largest:
        _gradients(model, TokenLogprobModel(model, TEMPERATURE)(PROMPT, TOKENS, MASK)[0])
    weight = model.lm_head.weight.numel()
    assert VOCABULARY * chunk <= largest.size == max(VOCABULARY * chunk, weight) < VOCABULARY * len(WEIGHTS)


def test_recomputing_keeps_a_fraction_of_the_activations() -> None:
    kept, recomputed = (_saved(recompute=recompute) for recompute in (False, True))
    assert recomputed < kept / 3


def _saved(*, recompute: bool) -> int:
    """How many numbers the forward pass keeps for the backward pass, the model's weights aside."""
    model, tensors = _model("untied"), dict[int, torch.Tensor]()
    score = TokenLogprobModel(model, TEMPERATURE, recompute=recompute)
    weights = {weight.untyped_storage().data_ptr() for weight in model.parameters()}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        tensors[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    hidden = torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor)
    with hidden:
        logprobs, _ = score(PROMPT, TOKENS, MASK)
    assert logprobs.requires_grad
    logits = VOCABULARY * len(WEIGHTS)
    sizes = [tensor.untyped_storage().nbytes() // 4 for key, tensor in tensors.items() if key not in weights]
    return sum(size for size in sizes if size != logits)

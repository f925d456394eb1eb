"""Log-probabilities and entropies of given tokens, without ever holding all logits."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from transformers.modeling_layers import GradientCheckpointingLayer

from agnostics.models.shared_prompt import PackedGroup, group_inputs, share_prompts
from agnostics.types.errors import UsageError

LOGITS_PER_CHUNK = 1 << 26
"""The most logits that exist at one time: 256 MiB in float32."""


class TokenLogprobModel(nn.Module):
    """A causal language model that returns log-probabilities of tokens instead of logits.

    With a large vocabulary the logits of a batch, (B, L, V), outweigh the model, so the head computes only the masked
    positions, in chunks, and each chunk's logits are recomputed in the backward pass, unless one chunk holds them all.
    Models that change their logits after the head (soft-capping) are not supported; the log-probability mismatch with
    the engine would show it.

    With `recompute`, a layer's activations are recomputed in the backward pass. `prompt_once` says whether a prompt is
    prefilled once for all its completions, or, in a model with layers that are not attention, for each of them.

    With `entropy_gradient` the entropies have a gradient, for an entropy term of the loss.
    """

    def __init__(
        self, model: Any, temperature: float, *, recompute: bool = False, entropy_gradient: bool = False
    ) -> None:
        super().__init__()
        self.model = model
        self._temperature = temperature
        self.prompt_once = share_prompts(model)
        self._entropy_gradient = entropy_gradient
        if recompute:
            _recompute_layers(model)
        head = model.get_output_embeddings()
        self._logits = head.forward
        # ZeRO stage 3 gathers the head's weight on all ranks for each call: one call for all chunks.
        head.forward = self._score

    def forward(
        self,
        prompt: torch.Tensor,
        token_ids: torch.Tensor,
        mask: torch.Tensor,
        position_ids: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The log-probabilities of the N masked tokens, row by row, and the entropies of their distributions,
        -sum p log p at the sampling temperature: (N,) float32 each.

        `prompt` is (P,), and `token_ids` and `mask`, (B, L) padded on the right, follow it in each row. No attention
        mask is needed: a token never attends to later ones.

        With `position_ids`, (B, L), each row holds documents one after another and `prompt` is not used: positions
        start again at 0 with each document, whose first token is not masked, and a token attends to its document alone.
        """
        wanted = mask.bool()
        if position_ids is not None:
            before = self._before_packed(token_ids, position_ids)[wanted]
        elif self.prompt_once:
            before = self._before_in_group(prompt, token_ids, wanted)
        else:
            before = self._before_each(prompt, token_ids)[wanted]
        scores: tuple[torch.Tensor, torch.Tensor] = self.model.get_output_embeddings()(before, token_ids[wanted])
        return scores

    def _before_each(self, prompt: torch.Tensor, token_ids: torch.Tensor) -> torch.Tensor:
        """The hidden states that predict each of `token_ids`, with the prompt in each row: (B, L, H)."""
        whole = torch.cat([prompt.expand(len(token_ids), -1), token_ids], dim=1)
        hidden: torch.Tensor = self.model.base_model(input_ids=whole, use_cache=False).last_hidden_state
        return hidden[:, len(prompt) - 1 : -1]

    def _before_packed(self, token_ids: torch.Tensor, position_ids: torch.Tensor) -> torch.Tensor:
        """The same in rows of documents: transformers makes block-diagonal attention of positions that start again."""
        states = self.model.base_model(input_ids=token_ids, position_ids=position_ids, use_cache=False)
        hidden: torch.Tensor = states.last_hidden_state
        return torch.cat([hidden[:, :1], hidden[:, :-1]], dim=1)

    def _before_in_group(self, prompt: torch.Tensor, token_ids: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        """The same for the `wanted` positions alone, with the prompt prefilled once: (N, H).

        A group costs little more than its completions. Of each, the last wanted token predicts nothing.
        """
        places = torch.arange(1, wanted.shape[1] + 1, device=wanted.device)
        lengths = ((places * wanted).amax(-1) - 1).clamp(min=0)
        group = PackedGroup(len(prompt), lengths.tolist())
        inside = places <= lengths.unsqueeze(-1)
        row = torch.cat([prompt, token_ids[inside]]).unsqueeze(0)
        states = self.model.base_model(input_ids=row, **group_inputs(group, prompt.device)).last_hidden_state[0]
        first = states[len(prompt) - 1].expand(len(token_ids), 1, -1)
        before = torch.cat([first, group.rows(states)], dim=1)
        hidden: torch.Tensor = before[wanted[:, : before.shape[1]]]
        return hidden

    def _score(self, hidden: torch.Tensor, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The head's results: (N, hidden size), (N,) -> (N,), (N,)"""
        size = max(1, LOGITS_PER_CHUNK // self.model.config.vocab_size)
        if len(targets) <= size:
            return self._chunk(hidden, targets)
        parts = zip(torch.split(hidden, size), torch.split(targets, size), strict=True)
        scores = [checkpoint(self._chunk, *part, use_reentrant=False) for part in parts]
        logprobs, entropies = zip(*scores, strict=True)
        return torch.cat(logprobs), torch.cat(entropies)

    def _chunk(self, hidden: torch.Tensor, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        logits = self._logits(hidden)
        scores: Any = _TokenScores.apply
        values: tuple[torch.Tensor, torch.Tensor] = scores(logits, targets, self._temperature, self._entropy_gradient)
        return values


class _TokenScores(torch.autograd.Function):
    """log p and -sum p log p of p = softmax(logits / temperature): (N, V), (N,) -> (N,), (N,) float32.

    With l = logits / temperature, dlog p_t / dl_j = [j = t] - p_j and dH / dl_j = -p_j (log p_j + H): both from the
    logits alone, in place, where autograd would keep and pass over several float32 tensors of their size.
    """

    @staticmethod
    def forward(
        ctx: Any, logits: torch.Tensor, targets: torch.Tensor, temperature: float, entropy_gradient: bool
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The scores."""
        scaled = logits.float() / temperature
        largest = scaled.amax(-1, keepdim=True)
        chosen = scaled.gather(-1, targets.unsqueeze(-1))
        weights = (scaled - largest).exp_()
        sums = weights.sum(-1, keepdim=True)
        totals = largest + sums.log()
        entropies = (totals - weights.mul_(scaled).sum(-1, keepdim=True) / sums).squeeze(-1)
        ctx.temperature = temperature
        ctx.save_for_backward(logits, targets, totals, entropies)
        if not entropy_gradient:
            ctx.mark_non_differentiable(entropies)
        ctx.set_materialize_grads(False)
        return (chosen - totals).squeeze(-1), entropies

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
        """The gradient of the logits, in their type."""
        logits, targets, totals, entropies = ctx.saved_tensors
        of_logprobs, of_entropies = gradients
        log_p = (logits.float() / ctx.temperature).sub_(totals)
        factor = torch.zeros_like(totals)
        if of_logprobs is not None:
            factor -= of_logprobs.unsqueeze(-1)
        if of_entropies is None:
            gradient = log_p.exp_().mul_(factor)
        else:
            p = log_p.exp()
            gradient = log_p.add_(entropies.unsqueeze(-1)).mul_(-of_entropies.unsqueeze(-1)).add_(factor).mul_(p)
        if of_logprobs is not None:
            gradient.scatter_add_(-1, targets.unsqueeze(-1), of_logprobs.unsqueeze(-1))
        return gradient.div_(ctx.temperature).to(logits.dtype), None, None, None


def _recompute_layers(model: Any) -> None:
    """Raises UsageError if the model's layers cannot be recomputed."""
    try:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    except ValueError as error:
        raise UsageError(f"{error} Set train.activation_checkpointing = false") from error
    for module in model.modules():
        if isinstance(module, GradientCheckpointingLayer):
            module.training = True  # transformers needs it; of this module alone, so that dropout stays off

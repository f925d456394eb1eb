"""The transformers engine: plain batched sampling with a cache of keys and values; slow, small, and everywhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

from agnostics.rollout.engine import Answer, EngineSettings, FinishReason, Prompt, Sampling

if TYPE_CHECKING:
    import torch


class TransformersEngine:
    """A transformers model loaded for sampling."""

    def __init__(self, settings: EngineSettings) -> None:
        import torch
        from transformers import AutoModelForCausalLM

        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        model: Any = AutoModelForCausalLM.from_pretrained(settings.folder, dtype=getattr(torch, settings.dtype))
        self._model = model.to(self._device).eval().requires_grad_(False)
        self._settings = settings
        self.version = 0

    def generate(self, prompts: Sequence[Prompt], sampling: Sampling) -> Iterator[tuple[int, Answer]]:
        """Answer every prompt; see `Engine.generate`."""
        size = self._settings.max_running
        by_length = sorted(range(len(prompts)), key=lambda index: len(prompts[index].token_ids))
        for start in range(0, len(prompts), size):
            indices = by_length[start : start + size]
            batch = _Batch(self._model, self._device, [prompts[index] for index in indices], sampling)
            for row, answer in batch.run(self._settings.stop_ids, self.version):
                yield indices[row], answer

    def load_weights(self, weights: Iterable[tuple[str, torch.Tensor]], version: int) -> None:
        """Replace all weights; see `Engine.load_weights`."""
        own = dict(self._model.named_parameters())
        for name, weight in weights:
            if name in own:  # a tied head is its embedding and has no name of its own here
                own[name].copy_(weight)
        self.version = version

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        del self._model


class _Batch:
    """Prompts, padded on the left, that are answered side by side: row b of every tensor belongs to one prompt."""

    def __init__(self, model: Any, device: str, prompts: Sequence[Prompt], sampling: Sampling) -> None:
        import torch

        longest = max(len(prompt.token_ids) for prompt in prompts)
        padded = [[0] * (longest - len(prompt.token_ids)) + list(prompt.token_ids) for prompt in prompts]
        lengths = torch.tensor([[len(prompt.token_ids)] for prompt in prompts])
        self._model = model
        self._temperature = sampling.temperature
        self._input = torch.tensor(padded, device=device)
        self._attention = (torch.arange(longest) >= longest - lengths).long().to(device)
        self._draws = torch.stack([_uniforms(prompt.seed, sampling.max_new_tokens) for prompt in prompts]).to(device)
        self._rows = list(range(len(prompts)))
        self._tokens: list[list[int]] = [[] for _ in prompts]
        self._logprobs: list[list[float]] = [[] for _ in prompts]
        self._cache: Any = None

    def run(self, stop_ids: Sequence[int], version: int) -> Iterator[tuple[int, Answer]]:
        """Sample until every row has ended; yields (row, answer) as they end."""
        for step in range(self._draws.shape[1]):
            last = step == self._draws.shape[1] - 1
            tokens = self._advance(step)
            stopped = [token in stop_ids for token in tokens]
            for row, ended in zip(self._rows, stopped, strict=True):
                if ended or last:
                    reason: FinishReason = "stop" if ended else "length"
                    yield row, Answer(tuple(self._tokens[row]), tuple(self._logprobs[row]), reason, version)
            self._keep([place for place, ended in enumerate(stopped) if not ended])
            if not self._rows:
                return

    def _advance(self, step: int) -> list[int]:
        """Sample one token for every row that has not ended."""
        import torch

        with torch.no_grad():
            logprobs = self._next_logprobs()
            # The inverse of the cumulative distribution at a uniform draw of the row's own: no row disturbs another.
            cumulative = logprobs.double().exp().cumsum(-1)
            drawn = self._draws[self._rows, step].unsqueeze(-1) * cumulative[:, -1:]
            chosen = torch.searchsorted(cumulative, drawn, right=True).clamp(max=logprobs.shape[-1] - 1)
        values = logprobs.gather(-1, chosen).squeeze(-1).tolist()
        tokens: list[int] = chosen.squeeze(-1).tolist()
        for row, token, value in zip(self._rows, tokens, values, strict=True):
            self._tokens[row].append(token)
            self._logprobs[row].append(value)
        self._input = chosen
        self._attention = torch.cat([self._attention, self._attention.new_ones(len(self._rows), 1)], dim=-1)
        return tokens

    def _next_logprobs(self) -> torch.Tensor:
        """Log-probabilities of the next token at the sampling temperature: (rows, vocabulary) float32."""
        positions = (self._attention.cumsum(-1) - 1).clamp(min=0)[:, -self._input.shape[1] :]
        output = self._model(
            input_ids=self._input,
            attention_mask=self._attention,
            position_ids=positions,
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
        )
        self._cache = output.past_key_values
        logprobs: torch.Tensor = (output.logits[:, -1].float() / self._temperature).log_softmax(-1)
        return logprobs

    def _keep(self, places: list[int]) -> None:
        """Drop the rows that have ended, so that nothing is computed for them."""
        import torch

        if len(places) == len(self._rows):
            return
        self._rows = [self._rows[place] for place in places]
        index = torch.tensor(places, dtype=torch.long, device=self._input.device)
        self._input, self._attention = self._input[index], self._attention[index]
        if places:
            self._cache.batch_select_indices(index)


def _uniforms(seed: int, count: int) -> torch.Tensor:
    """`count` draws from [0, 1), decided by `seed`: (count,) float64."""
    import torch

    return torch.rand(count, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)

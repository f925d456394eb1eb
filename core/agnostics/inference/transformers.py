"""The transformers engine: plain batched sampling with a cache of keys and values; slow, small, and everywhere."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

from agnostics.inference.engine import Answer, EngineSettings, FinishReason, Prompt, Sampling

if TYPE_CHECKING:
    import torch


class TransformersEngine:
    """A transformers model loaded for sampling: `max_num_seqs` answers side by side, then the next."""

    def __init__(self, settings: EngineSettings) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        model: Any = AutoModelForCausalLM.from_pretrained(settings.folder, dtype=getattr(torch, settings.dtype))
        self._model = model.to(self._device).eval().requires_grad_(False)
        self._tokenizer: Any = AutoTokenizer.from_pretrained(settings.folder) if settings.reads else None
        self._settings = settings
        self._waiting: deque[tuple[int, Prompt, Sampling]] = deque()
        self._batch: _Batch | None = None
        self.version = 0

    @property
    def busy(self) -> bool:
        """See `Engine.busy`."""
        return bool(self._batch or self._waiting)

    def add(self, key: int, prompt: Prompt, sampling: Sampling) -> None:
        """See `Engine.add`."""
        self._waiting.append((key, prompt, sampling))

    def advance(self) -> list[tuple[int, Answer]]:
        """See `Engine.advance`."""
        self._batch = self._batch or self._next_batch()
        if self._batch is None:
            return []
        ended = self._batch.advance(self._has_ended, self.version)
        if self._batch.over:
            self._batch = None
        return ended

    def drop(self) -> None:
        """See `Engine.drop`."""
        self._waiting.clear()
        self._batch = None

    def load_weights(self, weights: Iterable[tuple[str, torch.Tensor]], version: int) -> None:
        """See `Engine.load_weights`."""
        own = dict(self._model.named_parameters())
        for name, weight in weights:
            if name in own:  # a tied head is its embedding and has no name of its own here
                own[name].copy_(weight)
        self.version = version
        if self._batch:
            self._batch.read_again()

    def use_threads(self, count: int) -> None:
        """See `Engine.use_threads`."""
        import torch

        torch.set_num_threads(count)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        del self._model

    def _has_ended(self, token_ids: Sequence[int], stop: Sequence[str]) -> bool:
        """Whether the last token is one that ends an answer, or completes one of the texts `stop`."""
        if token_ids[-1] in self._settings.stop_ids or not stop:
            return token_ids[-1] in self._settings.stop_ids
        reach = 1 + max(len(text.encode()) for text in stop)  # no token holds less than a byte, but for the first
        text = self._tokenizer.decode(token_ids[-reach:], skip_special_tokens=True)
        return any(end in text for end in stop)

    def _next_batch(self) -> _Batch | None:
        """What has waited longest, as far as it is sampled in one way."""
        chosen: list[tuple[int, Prompt]] = []
        sampling = self._waiting[0][2] if self._waiting else None
        while self._waiting and self._waiting[0][2] == sampling and len(chosen) < self._settings.max_num_seqs:
            key, prompt, _ = self._waiting.popleft()
            chosen.append((key, prompt))
        return _Batch(self._model, self._device, chosen, sampling) if sampling else None


class _Batch:
    """Prompts, padded on the left, that are answered side by side: row b of every tensor belongs to one prompt."""

    def __init__(self, model: Any, device: str, asked: Sequence[tuple[int, Prompt]], sampling: Sampling) -> None:
        import torch

        prompts = [prompt for _, prompt in asked]
        distinct = list(dict.fromkeys(prompt.token_ids for prompt in prompts))
        longest = max(len(prompt.token_ids) for prompt in prompts)
        padded = [[0] * (longest - len(prompt.token_ids)) + list(prompt.token_ids) for prompt in prompts]
        lengths = torch.tensor([[len(prompt.token_ids)] for prompt in prompts])
        self._model = model
        self._sampling = sampling
        places = [distinct.index(prompt.token_ids) for prompt in prompts]
        self._read_once = [places.index(place) for place in range(len(distinct))]
        self._reader = torch.tensor(places, device=device)
        self._sequence = torch.tensor(padded, device=device)
        self._input = self._sequence
        self._attention = (torch.arange(longest) >= longest - lengths).long().to(device)
        self._draws = torch.stack([_uniforms(prompt.seed, sampling.max_completion_tokens) for prompt in prompts]).to(
            device
        )
        self._rows = list(range(len(prompts)))
        self._keys = [key for key, _ in asked]
        self._tokens: list[list[int]] = [[] for _ in prompts]
        self._logprobs: list[list[float]] = [[] for _ in prompts]
        self._versions: list[int] = []
        self._cache: Any = None

    @property
    def over(self) -> bool:
        """Whether every row has ended."""
        return not self._rows

    def read_again(self) -> None:
        """Forget keys and values, for weights that have changed."""
        self._input, self._cache = self._sequence, None

    def advance(
        self, has_ended: Callable[[Sequence[int], Sequence[str]], bool], version: int
    ) -> list[tuple[int, Answer]]:
        """Sample one token for every row that has not ended; the answers that end with it, by their keys."""
        self._sample()
        self._versions.append(version)
        last = len(self._versions) == self._draws.shape[1]
        stopped = [has_ended(self._tokens[row], self._sampling.stop) for row in self._rows]
        ended = [
            (self._keys[row], self._answer(row, "stop" if stop else "length"))
            for row, stop in zip(self._rows, stopped, strict=True)
            if stop or last
        ]
        self._keep([place for place, stop in enumerate(stopped) if not (stop or last)])
        return ended

    def _answer(self, row: int, reason: FinishReason) -> Answer:
        return Answer(tuple(self._tokens[row]), tuple(self._logprobs[row]), reason, tuple(self._versions))

    def _sample(self) -> None:
        """Sample the next token of every row that has not ended."""
        import torch

        with torch.no_grad():
            logprobs = self._next_logprobs()
            # The inverse of the cumulative distribution at a uniform draw of the row's own: no row disturbs another.
            cumulative = logprobs.double().exp().cumsum(-1)
            drawn = self._draws[self._rows, len(self._versions)].unsqueeze(-1) * cumulative[:, -1:]
            chosen = torch.searchsorted(cumulative, drawn, right=True).clamp(max=logprobs.shape[-1] - 1)
        values = logprobs.gather(-1, chosen).squeeze(-1).tolist()
        tokens: list[int] = chosen.squeeze(-1).tolist()
        for row, token, value in zip(self._rows, tokens, values, strict=True):
            self._tokens[row].append(token)
            self._logprobs[row].append(value)
        self._input = chosen
        self._sequence = torch.cat([self._sequence, chosen], dim=-1)
        self._attention = torch.cat([self._attention, self._attention.new_ones(len(self._rows), 1)], dim=-1)

    def _next_logprobs(self) -> torch.Tensor:
        """Log-probabilities of the next token at the sampling temperature: (rows, vocabulary) float32.

        A prompt is read once for all the answers it is given.
        """
        if self._versions:
            return self._read(self._input, self._attention)
        logprobs = self._read(self._input[self._read_once], self._attention[self._read_once])
        self._cache.batch_select_indices(self._reader)
        return logprobs[self._reader]

    def _read(self, tokens: torch.Tensor, attention: torch.Tensor) -> torch.Tensor:
        """Put keys and values of `tokens` into the cache; log-probabilities of what follows the last of each row."""
        positions = (attention.cumsum(-1) - 1).clamp(min=0)[:, -tokens.shape[1] :]
        output = self._model(
            input_ids=tokens,
            attention_mask=attention,
            position_ids=positions,
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
        )
        self._cache = output.past_key_values
        logprobs: torch.Tensor = (output.logits[:, -1].float() / self._sampling.temperature).log_softmax(-1)
        return logprobs

    def _keep(self, places: list[int]) -> None:
        """Drop the rows that have ended, so that nothing is computed for them."""
        import torch

        if len(places) == len(self._rows):
            return
        self._rows = [self._rows[place] for place in places]
        index = torch.tensor(places, dtype=torch.long, device=self._input.device)
        self._input, self._sequence = self._input[index], self._sequence[index]
        self._attention = self._attention[index]
        if places:
            self._cache.batch_select_indices(index)


def _uniforms(seed: int, count: int) -> torch.Tensor:
    """`count` draws from [0, 1), decided by `seed`: (count,) float64."""
    import torch

    return torch.rand(count, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)

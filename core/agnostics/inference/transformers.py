"""The transformers engine: batched sampling with a KV cache; slow, small, and available everywhere."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from agnostics.inference.engine import Completion, CompletionRequest, EngineSettings, SamplingParams
from agnostics.inference.prefix_cache import (
    Prefix,
    PrefixCache,
    copy_prefix,
    is_divisible,
    join_rows,
    stack_prefixes,
)
from agnostics.types.rollout import FinishReason

if TYPE_CHECKING:
    import torch

_BLOCK = 512
"""Tokens of the vocabulary whose probabilities are summed before the others' in sampling."""


class TransformersEngine:
    """A transformers model that samples `max_num_seqs` completions side by side, then the next.

    Prompts that continue a finished sequence are computed from its end on, as far as `kv_cache_gib` of keys and values
    go back.
    """

    def __init__(self, settings: EngineSettings) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        model: Any = AutoModelForCausalLM.from_pretrained(settings.folder, dtype=getattr(torch, settings.dtype))
        self._model = model.to(self._device).eval().requires_grad_(False)
        self._tokenizer: Any = AutoTokenizer.from_pretrained(settings.folder) if settings.detokenize else None
        self._settings = settings
        self._waiting: deque[tuple[int, CompletionRequest, SamplingParams]] = deque()
        self._batch: _Batch | None = None
        self._prefixes = PrefixCache(settings.kv_cache_gib << 30)
        self.version = 0

    @property
    def has_unfinished_requests(self) -> bool:
        """See `Engine.has_unfinished_requests`."""
        return bool(self._batch or self._waiting)

    def add_request(self, request_id: int, request: CompletionRequest, params: SamplingParams) -> None:
        """See `Engine.add_request`."""
        self._waiting.append((request_id, request, params))

    def step(self) -> list[tuple[int, Completion]]:
        """See `Engine.step`."""
        self._batch = self._batch or self._next_batch()
        if self._batch is None:
            return []
        finished = self._batch.step(self._is_finished, self.version)
        if self._batch.is_done:
            self._batch = None
        return finished

    def abort_all(self) -> None:
        """See `Engine.abort_all`."""
        self._waiting.clear()
        self._batch = None
        self._prefixes.clear()

    def load_weights(self, weights: Iterable[tuple[str, torch.Tensor]], version: int) -> None:
        """See `Engine.load_weights`."""
        self._prefixes.clear()
        parameters = dict(self._model.named_parameters())
        for name, weight in weights:
            if name in parameters:  # a tied head is its embedding and has no name of its own here
                parameters[name].copy_(weight)
        self.version = version
        if self._batch:
            self._batch.invalidate_cache()

    def set_num_threads(self, count: int) -> None:
        """See `Engine.set_num_threads`."""
        import torch

        torch.set_num_threads(count)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._prefixes.clear()
        del self._model

    def _is_finished(self, token_ids: Sequence[int], stop: Sequence[str]) -> bool:
        """Whether the last token is a stop token, or completes one of the texts `stop`."""
        if token_ids[-1] in self._settings.stop_ids or not stop:
            return token_ids[-1] in self._settings.stop_ids
        reach = 1 + max(len(text.encode()) for text in stop)  # no token but the first holds less than a byte
        text = self._tokenizer.decode(token_ids[-reach:], skip_special_tokens=True)
        return any(end in text for end in stop)

    def _next_batch(self) -> _Batch | None:
        """The oldest waiting requests with the same sampling parameters."""
        chosen: list[tuple[int, CompletionRequest]] = []
        params = self._waiting[0][2] if self._waiting else None
        while self._waiting and self._waiting[0][2] == params and len(chosen) < self._settings.max_num_seqs:
            request_id, request, _ = self._waiting.popleft()
            chosen.append((request_id, request))
        return _Batch(self._model, self._device, self._prefixes, chosen, params) if params else None


@dataclass(frozen=True, slots=True)
class _Prefilled:
    """The logits after P prompts, (P, vocabulary), their keys and values, and for how many tokens these were cached."""

    logits: torch.Tensor
    cache: Any
    cached: Sequence[int]


class _Batch:
    """Requests, padded on the left, that are sampled side by side: row b of every tensor belongs to one request."""

    def __init__(
        self,
        model: Any,
        device: str,
        prefixes: PrefixCache,
        chosen: Sequence[tuple[int, CompletionRequest]],
        params: SamplingParams,
    ) -> None:
        import torch

        requests = [request for _, request in chosen]
        self._model, self._device = model, device
        self._prefixes = prefixes
        self._params = params
        self._requests = requests
        self._sequence, self._attention = _padded([request.prompt_ids for request in requests], device)
        self._input = self._sequence
        draws = [_uniforms(request.seed, params.max_completion_tokens) for request in requests]
        self._draws = torch.stack(draws).to(device)
        self._rows = list(range(len(requests)))
        self._request_ids = [request_id for request_id, _ in chosen]
        self._tokens: list[list[int]] = [[] for _ in requests]
        self._logprobs: list[list[float]] = [[] for _ in requests]
        self._num_cached: list[int] = []
        self._versions: list[int] = []
        self._cache: Any = None

    @property
    def is_done(self) -> bool:
        """Whether every row is finished."""
        return not self._rows

    def invalidate_cache(self) -> None:
        """Drop keys and values: the weights have changed."""
        self._input, self._cache = self._sequence, None

    def step(
        self, is_finished: Callable[[Sequence[int], Sequence[str]], bool], version: int
    ) -> list[tuple[int, Completion]]:
        """Sample one token for every unfinished row; the completions that finish with it, by request id."""
        self._sample()
        self._versions.append(version)
        truncated = len(self._versions) == self._draws.shape[1]
        stopped = [is_finished(self._tokens[row], self._params.stop) for row in self._rows]
        finished = [place for place, stop in enumerate(stopped) if stop or truncated]
        self._hold_prefixes(finished)
        completions = [
            (self._request_ids[row], self._completion(row, "stop" if stop else "length"))
            for row, stop in zip(self._rows, stopped, strict=True)
            if stop or truncated
        ]
        self._keep([place for place, stop in enumerate(stopped) if not (stop or truncated)])
        return completions

    def _completion(self, row: int, reason: FinishReason) -> Completion:
        return Completion(
            token_ids=tuple(self._tokens[row]),
            logprobs=tuple(self._logprobs[row]),
            finish_reason=reason,
            policy_versions=tuple(self._versions),
            num_cached_tokens=self._num_cached[row],
        )

    def _hold_prefixes(self, places: Sequence[int]) -> None:
        """Hold keys and values of the rows that may be continued, of all their tokens but the last."""
        for place in places:
            row = self._rows[place]
            request = self._requests[row]
            if request.may_be_continued and is_divisible(self._cache):
                token_ids = (*request.prompt_ids, *self._tokens[row][:-1])
                self._prefixes.add(copy_prefix(self._cache, place, token_ids))

    def _sample(self) -> None:
        """Sample the next token of every unfinished row."""
        import torch

        with torch.no_grad():
            draws = self._draws[self._rows, len(self._versions)]
            chosen, logprobs = _sample_tokens(self._next_logits(), draws, self._params.temperature)
        values = logprobs.squeeze(-1).tolist()
        tokens: list[int] = chosen.squeeze(-1).tolist()
        for row, token, value in zip(self._rows, tokens, values, strict=True):
            self._tokens[row].append(token)
            self._logprobs[row].append(value)
        self._input = chosen
        self._sequence = torch.cat([self._sequence, chosen], dim=-1)
        self._attention = torch.cat([self._attention, self._attention.new_ones(len(self._rows), 1)], dim=-1)

    def _next_logits(self) -> torch.Tensor:
        """The logits of the next token: (rows, vocabulary)."""
        return self._forward(self._input, self._attention) if self._versions else self._prefill()

    def _prefill(self) -> torch.Tensor:
        """The logits of each row's first token: (rows, vocabulary). A prompt that several rows share is computed once.

        Prompts that continue a prefix are computed apart from the others, beside which they would be computed whole.
        """
        import torch

        prompts = [request.prompt_ids for request in self._requests]
        found = {prompt: self._prefixes.take(prompt) for prompt in dict.fromkeys(prompts)}
        continued = {prompt: prefix for prompt, prefix in found.items() if prefix}
        new = {prompt: None for prompt, prefix in found.items() if not prefix}
        parts = [self._prefill_together(part) for part in (continued, new) if part]
        places = {prompt: place for place, prompt in enumerate([*continued, *new])}
        index = torch.tensor([places[prompt] for prompt in prompts], device=self._device)
        cached = dict(zip(places, (size for part in parts for size in part.cached), strict=True))
        self._num_cached = [cached.pop(prompt, len(prompt)) for prompt in prompts]
        self._cache = join_rows([part.cache for part in parts])
        self._cache.batch_select_indices(index)
        return torch.cat([part.logits for part in parts])[index]

    def _prefill_together(self, prefixes: Mapping[tuple[int, ...], Prefix | None]) -> _Prefilled:
        """Compute prompts side by side: of each as many of its last tokens as one of them has after its prefix."""
        width = max(len(prompt) - (len(prefix.token_ids) if prefix else 0) for prompt, prefix in prefixes.items())
        cached = [max(0, len(prompt) - width) for prompt in prefixes]
        held = [prefix for prefix in prefixes.values() if prefix]
        self._cache = stack_prefixes(self._model.config, held, cached) if any(cached) else None
        sequence, attention = _padded(list(prefixes), self._device)
        return _Prefilled(self._forward(sequence[:, -width:], attention), self._cache, cached)

    def _forward(self, tokens: torch.Tensor, attention: torch.Tensor) -> torch.Tensor:
        """The logits of the token after the last of each row; keys and values of `tokens` go into the cache."""
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
        logits: torch.Tensor = output.logits[:, -1]
        return logits

    def _keep(self, places: list[int]) -> None:
        """Drop the finished rows, so that nothing is computed for them."""
        import torch

        if len(places) == len(self._rows):
            return
        self._rows = [self._rows[place] for place in places]
        index = torch.tensor(places, dtype=torch.long, device=self._input.device)
        self._input, self._sequence = self._input[index], self._sequence[index]
        self._attention = self._attention[index]
        if places:
            self._cache.batch_select_indices(index)


def _sample_tokens(logits: torch.Tensor, draws: torch.Tensor, temperature: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens and their log-probabilities from `logits` (R, V), by a uniform draw for each row (R,): (R, 1) each.

    Inverse transform sampling: rows do not influence each other. The cumulative sum is taken over blocks of the
    vocabulary, and then within the block that is drawn, so that a large vocabulary is passed over three times only.
    """
    import torch
    from torch.nn.functional import pad

    scaled = logits.float() / temperature
    largest = scaled.amax(-1, keepdim=True)
    weights = pad((scaled - largest).exp_(), (0, -logits.shape[-1] % _BLOCK)).view(len(logits), -1, _BLOCK)
    ends = weights.sum(-1, dtype=torch.float64).cumsum(-1)
    total = ends[:, -1:]
    targets = draws.unsqueeze(-1) * total
    block = torch.searchsorted(ends, targets, right=True).clamp(max=ends.shape[-1] - 1)
    inside = weights.gather(1, block.unsqueeze(-1).expand(-1, 1, _BLOCK)).squeeze(1).double().cumsum(-1)
    rest = targets - (ends.gather(-1, block) - inside[:, -1:])
    place = torch.searchsorted(inside, rest, right=True).clamp(max=_BLOCK - 1)
    tokens = (block * _BLOCK + place).clamp(max=logits.shape[-1] - 1)
    return tokens, scaled.gather(-1, tokens) - largest - total.log().float()


def _padded(prompts: Sequence[Sequence[int]], device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Prompts padded on the left, and 1 where a token is a prompt's: (prompts, longest) each."""
    import torch

    longest = max(map(len, prompts))
    lengths = torch.tensor([[len(prompt)] for prompt in prompts])
    padded = torch.tensor([[0] * (longest - len(prompt)) + list(prompt) for prompt in prompts], device=device)
    return padded, (torch.arange(longest) >= longest - lengths).long().to(device)


def _uniforms(seed: int, count: int) -> torch.Tensor:
    """`count` draws from [0, 1), decided by `seed`: (count,) float64."""
    import torch

    return torch.rand(count, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)

"""The prefix cache of the transformers engine: keys and values of finished sequences, which later prompts continue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from transformers import DynamicCache, PreTrainedConfig


@dataclass(frozen=True, slots=True)
class Prefix:
    """The first N tokens of a sequence, with their keys and values in each layer: (heads, N, head dimension)."""

    token_ids: tuple[int, ...]
    layers: tuple[tuple[torch.Tensor, torch.Tensor], ...]

    @property
    def num_bytes(self) -> int:
        """Bytes of the keys and values."""
        return sum(tensor.nbytes for layer in self.layers for tensor in layer)

    def is_continued_by(self, prompt_ids: tuple[int, ...]) -> bool:
        """Whether the prompt begins with these tokens and has others after them."""
        size = len(self.token_ids)
        is_longer = size < len(prompt_ids)
        return is_longer and prompt_ids[size - 1] == self.token_ids[-1] and prompt_ids[:size] == self.token_ids


class PrefixCache:
    """Prefixes of at most `max_bytes` together; the least recently used ones are evicted.

    A prefix is used once: the sequence that continues it holds all that it held, and is added when it is finished.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._prefixes: dict[tuple[int, ...], Prefix] = {}
        self.num_bytes = 0
        """Bytes of the prefixes that are held."""

    def add(self, prefix: Prefix) -> None:
        """Hold a prefix, and evict others for it."""
        self._remove(prefix.token_ids)
        self._prefixes[prefix.token_ids] = prefix
        self.num_bytes += prefix.num_bytes
        while self.num_bytes > self._max_bytes:
            self._remove(next(iter(self._prefixes)))

    def take(self, prompt_ids: tuple[int, ...]) -> Prefix | None:
        """The longest prefix that the prompt continues, which is held no more; None if there is none."""
        continued = [prefix for prefix in self._prefixes.values() if prefix.is_continued_by(prompt_ids)]
        longest = max(continued, key=lambda prefix: len(prefix.token_ids), default=None)
        if longest:
            self._remove(longest.token_ids)
        return longest

    def clear(self) -> None:
        """Hold nothing."""
        self._prefixes.clear()
        self.num_bytes = 0

    def _remove(self, token_ids: tuple[int, ...]) -> None:
        removed = self._prefixes.pop(token_ids, None)
        self.num_bytes -= removed.num_bytes if removed else 0


def is_divisible(cache: Any) -> bool:
    """Whether each layer of a cache holds keys and values of every token: none of them states, or a window left behind.

    Layers of other classes, such as those of linear attention, hold what cannot be divided into tokens.
    """
    from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

    return all(
        type(layer) in (DynamicLayer, DynamicSlidingWindowLayer)
        and layer.is_initialized
        and layer.keys.shape[-2] == layer.get_seq_length()
        for layer in cache.layers
    )


def copy_prefix(cache: DynamicCache, row: int, token_ids: tuple[int, ...]) -> Prefix:
    """The tokens `token_ids`, the last ones in a row of a divisible cache, with a copy of their keys and values."""
    size = len(token_ids)
    layers = ((layer.keys[row, :, -size:].clone(), layer.values[row, :, -size:].clone()) for layer in cache.layers)
    return Prefix(token_ids, tuple(layers))


def stack_prefixes(config: PreTrainedConfig, prefixes: Sequence[Prefix], sizes: Sequence[int]) -> DynamicCache:
    """A cache of the model that `config` describes, padded on the left: row b has the first `sizes[b]` of prefix b."""
    import torch
    from transformers import DynamicCache

    cache, width = DynamicCache(config=config), max(sizes)

    def stacked(layer: int, part: int) -> torch.Tensor:
        rows = zip(prefixes, sizes, strict=True)
        return torch.stack([_padded(prefix.layers[layer][part][:, :size], width) for prefix, size in rows])

    for layer in range(len(prefixes[0].layers)):
        cache.update(stacked(layer, 0), stacked(layer, 1), layer)
    return cache


def join_rows(caches: Sequence[Any]) -> Any:
    """The rows of several caches in the widest of them, padded on the left; a single cache as it is."""
    import torch

    if len(caches) == 1:
        return caches[0]
    widest = max(caches, key=lambda cache: cache.get_seq_length())
    for layer, *parts in zip(widest.layers, *(cache.layers for cache in caches), strict=True):
        width = layer.keys.shape[-2]
        keys = torch.cat([_padded(part.keys, width) for part in parts])
        values = torch.cat([_padded(part.values, width) for part in parts])
        layer.keys, layer.values = keys, values
    return widest


def _padded(tensor: torch.Tensor, width: int) -> torch.Tensor:
    """Keys or values (..., tokens, head dimension), padded on the left to `width` tokens."""
    from torch.nn.functional import pad

    return pad(tensor, (0, 0, width - tensor.shape[-2], 0))

"""The detokenizer: from the tokens of a completion to its text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from agnostics.environments.tools.mistral_call import SPECIAL_TOKENS as MISTRAL_TOKENS
from agnostics.types.code_extraction import REASONING_TAGS

_KEPT = frozenset(MISTRAL_TOKENS).union(*REASONING_TAGS)
"""Special tokens of some models without which no text shows where a call or the reasoning begins and ends."""


@dataclass(frozen=True)
class Detokenizer:
    """Makes the texts of completions for one model, with the marks of calls and reasoning among its special tokens."""

    tokenizer: Any

    def text(self, token_ids: Sequence[int]) -> str:
        """The text of a completion."""
        text: str = self.tokenizer.decode([token for token in token_ids if token not in self._skipped_ids])
        return text

    @cached_property
    def _skipped_ids(self) -> frozenset[int]:
        added = self.tokenizer.added_tokens_decoder.items()
        return frozenset(id for id, token in added if token.special and token.content not in _KEPT)

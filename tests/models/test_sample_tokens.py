"""Sampling of the transformers engine: tokens and log-probabilities from logits and uniform draws."""

from __future__ import annotations

import pytest
import torch
from agnostics.inference.transformers import _sample_tokens


@pytest.mark.parametrize("vocabulary", [3, 512, 1000, 151_936])
def test_tokens_are_those_of_inverse_transform_sampling_over_the_whole_vocabulary(vocabulary: int) -> None:
    torch.manual_seed(0)
    logits, draws = 4 * torch.randn(64, vocabulary), torch.rand(64, dtype=torch.float64)
    tokens, logprobs = _sample_tokens(logits, draws, temperature=0.7)
    exact = (logits.double() / 0.7).log_softmax(-1)
    ends = exact.exp().cumsum(-1)
    low, high = ends.gather(-1, tokens) - exact.gather(-1, tokens).exp(), ends.gather(-1, tokens)
    assert bool(((low - 1e-6 <= draws.unsqueeze(-1)) & (draws.unsqueeze(-1) <= high + 1e-6)).all())
    assert torch.allclose(logprobs.double(), exact.gather(-1, tokens), atol=1e-5)


def test_a_rows_token_does_not_depend_on_the_other_rows() -> None:
    torch.manual_seed(0)
    logits, draws = torch.randn(8, 2000), torch.rand(8, dtype=torch.float64)
    tokens, logprobs = _sample_tokens(logits, draws, temperature=1.0)
    for row in range(8):
        token, logprob = _sample_tokens(logits[row : row + 1], draws[row : row + 1], temperature=1.0)
        assert (token.item(), logprob.item()) == (tokens[row].item(), logprobs[row].item())


def test_a_token_without_probability_is_never_drawn() -> None:
    logits = torch.full((1000, 1500), -torch.inf)
    logits[:, 700] = 0.0
    draws = torch.linspace(0, 1 - 1e-12, 1000, dtype=torch.float64)
    tokens, logprobs = _sample_tokens(logits, draws, temperature=1.0)
    assert set(tokens.flatten().tolist()) == {700}
    assert bool((logprobs == 0).all())

"""Rollouts: prompts in an order, completions sampled for them, and the verification of their programs."""

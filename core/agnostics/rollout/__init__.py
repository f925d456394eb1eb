"""Sampling completions from the policy: one protocol, several engines."""

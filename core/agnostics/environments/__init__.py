"""Environments: what a policy's actions meet, turn by turn."""

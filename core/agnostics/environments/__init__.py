"""Environments: what a policy's actions meet, from the prompt of a task to the verdict on an episode."""

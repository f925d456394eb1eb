"""Advice for a language: the choice of failed programs, the prompts about them, and the sentences of the completion."""

"""Advice for a language: which faulty programs to show, how to ask about them, and what to keep of the answer."""

"""Execution traces: what a program does, step by step."""

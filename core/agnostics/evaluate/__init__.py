"""Evaluation reports and comparisons of runs, read from the store."""

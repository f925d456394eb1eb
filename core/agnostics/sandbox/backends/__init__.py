"""Sandbox backends, one file for each isolation mode."""

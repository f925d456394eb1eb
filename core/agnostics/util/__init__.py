"""Helpers that know nothing of the domain: paths, files, locks, processes, text, statistics."""

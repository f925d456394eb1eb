"""Queries on the results database."""

"""Queries of the results database."""

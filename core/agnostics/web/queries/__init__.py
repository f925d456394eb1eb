"""Queries of the results pages: a page of rows at a time, with keyset pagination."""

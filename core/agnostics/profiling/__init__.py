"""Spans of work on three tracks, and the trace file made of them."""

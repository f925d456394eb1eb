"""Algorithms, a file each, and the pure functions that they are made of.

`scoring` and `loss` hold one equation or rule per function, with its source; `grpo`, `dr_grpo`, `dapo`, `gspo` and
`cwm` are combinations of them.
"""

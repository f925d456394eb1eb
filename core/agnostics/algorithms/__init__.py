"""Algorithms, a file each, and the pure functions that they are made of.

`advantage`, `loss_terms`, `loss_weights`, `length_penalty`, `filters` and `batches` hold one equation or rule per
function, with its source; `grpo`, `dr_grpo`, `dapo`, `gspo` and `cwm` are combinations of them.
"""

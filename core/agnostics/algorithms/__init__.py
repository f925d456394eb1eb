"""Algorithms, a file each, and the pure functions that they are made of.

`scoring` and `loss` hold one equation or rule per function, with its source; `grpo`, `dr_grpo`, `dapo`, `gspo`, `cwm`,
`cispo`, `rloo` and `reinforce_plus_plus` are combinations of them.
"""

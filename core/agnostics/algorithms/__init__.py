"""The algorithms that Agnostics brings along, a file each, and the pure functions they are made of.

`advantage`, `objective`, `weights`, `overlong`, `rejection` and `batches` hold one equation or rule to a function, with
its source; `grpo`, `dr_grpo`, `dapo`, `gspo` and `cwm` are combinations of them.
"""

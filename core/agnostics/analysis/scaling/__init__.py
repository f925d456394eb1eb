"""Scaling laws: how the best batch size and learning rate, and the loss, follow the compute of training."""

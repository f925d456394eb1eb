"""Training: advantages, loss, policy, weight sync, checkpoints, and the loop."""

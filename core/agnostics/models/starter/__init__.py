"""The starter model: a small model pretrained on this machine from reference programs."""

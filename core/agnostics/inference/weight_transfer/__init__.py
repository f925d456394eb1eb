"""How new weights reach an inference engine."""

"""The HTTP endpoint through which an agent in a sandbox reaches a model."""

"""Transports that carry new weights into an inference engine."""

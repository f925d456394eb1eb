"""The tools of agents: calls in the text of a model, and what they do in a session."""

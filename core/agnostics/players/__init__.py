"""Players of agent sessions: their base class, the built-in ones, and the runner that lets one play."""

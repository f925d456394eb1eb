"""The data types of the system: tasks, languages, rollouts, verifications; small, pure, without I/O."""

"""What flows through the system: tasks, languages, rollouts, verifications; small, pure, without I/O."""

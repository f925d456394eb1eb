"""From other people's problems to tasks: reformulating them, checking that, and keeping benchmarks out of training."""

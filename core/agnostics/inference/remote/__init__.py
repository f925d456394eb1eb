"""An inference engine in a process of its own."""

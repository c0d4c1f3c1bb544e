"""Which cells are stale, and why."""

"""Which cells an experiment needs, and what decides each."""

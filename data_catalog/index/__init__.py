"""The DuckDB index over manifests and run records, and what is asked of it. Derived, deletable, never the truth."""

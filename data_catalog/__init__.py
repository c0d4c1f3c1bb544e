"""What exists and what is stale: specs, the artifact store, the planner and the DuckDB index over them."""

"""The embedded world: drawn birds, the small model that sees them, and simulated embeddings."""

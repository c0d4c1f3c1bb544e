"""The steps of the pipeline, and the bridge between them and the store."""

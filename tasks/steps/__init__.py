"""The steps of the pipeline, one module per step."""

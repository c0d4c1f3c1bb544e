"""What a run imports where it is first used, imported at once, so that processes forked from here are at work soon."""

import importlib

for _name in (
    "duckdb",
    "pyarrow.dataset",
    "pyarrow.parquet",
    "torch",
    "dat_lib.bootstrap",
    "flows.cli.app",
    "flows.launch",
    "tasks.engine.run",
    "tasks.steps.attributes",
    "tasks.steps.comparisons",
    "tasks.steps.densities",
    "tasks.steps.given_image_embeddings",
    "tasks.steps.metrics",
    "tasks.steps.predictions",
    "tasks.steps.references",
    "tasks.steps.given_samples",
    "tasks.steps.given_text_embeddings",
    "tests.faults.world",
):
    importlib.import_module(_name)

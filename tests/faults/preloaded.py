"""What a run imports where it is first used, imported at once, so that processes forked from here are at work soon."""

import importlib

for _name in (
    "duckdb",
    "pyarrow.dataset",
    "pyarrow.parquet",
    "torch",
    "dat_lib.bootstrap",
    "flows.cli.app",
    "flows.conducting",
    "flows.running",
    "tasks.attributes",
    "tasks.comparisons",
    "tasks.densities",
    "tasks.image_embeddings",
    "tasks.metrics",
    "tasks.predictions",
    "tasks.references",
    "tasks.samples",
    "tasks.text_embeddings",
    "tests.faults.world",
):
    importlib.import_module(_name)

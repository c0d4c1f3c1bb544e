"""`dat import embeddings`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from data_catalog.errors import FailureError
from data_catalog.home import Home
from data_catalog.planning.cell import Cell
from data_catalog.specs.paths import expanded
from data_catalog.store.artifacts import Store
from flows.cli.terminal.escaping import escape
from flows.cli.terminal.options import AsJson
from flows.cli.terminal.output import console, print_json


def embeddings(
    folder: Annotated[Path, typer.Argument(help="Folder with images.parquet, texts.parquet and prompts.toml.")],
    dataset: Annotated[str, typer.Option("--dataset", help="Name the dataset gets.", show_default=False)],
    backbone: Annotated[str, typer.Option("--backbone", help="Name of the model they come from.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Bring in embeddings you have already; then every method and question works on them.

    - `images.parquet`: sample_id (text), split ("train", "val" or "test"), label and attribute (integers from 0),
      embedding (list of floats).
    - `texts.parquet`: prompt (text), embedding.
    - `prompts.toml`: `classes`, `attributes`, and a table `[prompts]` with `class`, `attribute` and `group`; optional
      at the top: `reference_split` ("train" by default) and `groups` ("class_attribute" or "attribute").

    Everything is checked first; a folder with a mistake in it leaves nothing behind.

    Example:

        dat import embeddings exports/birds --dataset birds --backbone my-clip
        dat run --dataset birds --backbone my-clip
    """
    from tasks.embeddings_import import import_embeddings
    from tasks.engine.run import run_benchmark

    home, folder = Home.from_environment(), expanded(folder)

    def compute(cells: Sequence[Cell]) -> None:
        request = f"{folder} as {dataset} by {backbone}"
        result = run_benchmark(cells, Store(home), command="import", request=request)
        if result.failed:
            raise FailureError(result.failed[0].error, where=str(folder))

    found = import_embeddings(home, folder, dataset, backbone, compute)
    if as_json:
        print_json({"samples": found.samples, "dimension": found.dimension, "prompts": found.prompts})
    else:
        console.print(
            f"{dataset} by {backbone}: {found.samples} samples, {found.prompts} prompts, {found.dimension} dimensions"
        )
        console.print(f"next: dat run --dataset {escape(dataset)} --backbone {escape(backbone)}")

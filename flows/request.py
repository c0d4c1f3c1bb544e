"""What a person or a schedule asks for, and the cells that are meant."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from data_catalog.home import Home
from data_catalog.planning.cell import Cell
from data_catalog.store.source_files import Progress


@dataclass(frozen=True)
class Request:
    """A suite, or datasets, backbones and methods in its place or to narrow it; settings as `name=value`."""

    suite: str | None = None
    datasets: Sequence[str] = ()
    backbones: Sequence[str] = ()
    methods: Sequence[str] = ()
    settings: Sequence[str] = ()

    def parameters(self) -> dict[str, Any]:
        """Return it as the parameters of a flow."""
        lists = {name: list(getattr(self, name)) for name in ("datasets", "backbones", "methods", "settings")}
        return {"suite": self.suite, **lists}


@dataclass(frozen=True)
class Requested:
    """The cells that a request means, the request in a few words, and what was left out and why.

    `inputs` are the files and folders that were read, or would have been if they existed, to find this out.
    """

    cells: list[Cell]
    words: str
    left_out: list[str]
    inputs: set[Path]


def resolve(request: Request, home: Home, progress: Progress = lambda name, done, total: None) -> Requested:
    """Read the specs and write out the cells of a request; a `UserError` where it does not make sense.

    The files that specs name are looked at, and read where they are new or changed, of which `progress` is told.
    """
    from data_catalog.specs.collection import Specs
    from tasks.graph.experiments import Selection, parse_overrides, select
    from tasks.graph.graph import Graph

    specs = Specs.from_environment(home)
    overrides = parse_overrides(request.settings)
    selection = Selection(request.suite, request.datasets, request.backbones, request.methods, overrides)
    experiments, left_out = select(selection, specs)
    notes = [f"left out on {item.dataset}: {item.method}, {item.why}" for item in left_out]
    graph = Graph(specs, progress=progress)
    cells = graph.cells(experiments)
    return Requested(cells, selection.describe(), notes + graph.remarks, graph.inputs | set(specs.looked_in))


def write_report_on(requested: Requested, home: Home, folder: Path | None = None) -> Path:
    """Write the report on what a request means, by default into `DAT_HOME/reports`, and return its page."""
    from tasks.reporting import write_report
    from tasks.reporting.scope import slugged

    folder = folder or home.root / "reports" / (slugged(*requested.words.split()) or "report")
    return write_report(home, requested.cells, folder.absolute(), title=requested.words, remarks=requested.left_out)

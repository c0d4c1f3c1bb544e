"""`dat doctor`: would a run work on this machine?"""

import importlib.util
import os
import platform
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import typer

from data_catalog.home import Home
from data_catalog.index.reader import index_condition
from flows.cli.terminal.options import AsJson
from flows.cli.terminal.output import print_json, print_table

_LIBRARIES = (
    "torch",
    "torchvision",
    "open_clip_torch",
    "transformers",
    "wilds",
    "prefect",
    "duckdb",
    "pyarrow",
    "pandas",
    "numpy",
)
_LITTLE_ROOM = 5e9


@dataclass(frozen=True)
class Finding:
    """One thing looked at. `bad` keeps runs from working, `note` is worth knowing."""

    state: Literal["good", "note", "bad"]
    what: str
    found: str


def doctor(as_json: AsJson = False) -> None:
    """Check this machine: what is installed, GPU, disk, network, whether `DAT_HOME` can be written, the index.

    Exit code 1 when something would keep a run from working.
    """
    findings = examine(Home.from_environment())
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        marks = {"good": "ok", "note": "note", "bad": "BAD"}
        print_table(("", "what", "found"), [(marks[f.state], f.what, f.found) for f in findings])
    if any(finding.state == "bad" for finding in findings):
        raise typer.Exit(1)


def examine(home: Home) -> list[Finding]:
    """Look at Python, libraries, GPU, disk, network, the home folder and the index."""
    version = platform.python_version()
    findings = [Finding("good" if sys.version_info >= (3, 11) else "bad", "python", version)]
    findings += _libraries()
    findings += [_gpu(), *_home(home), _network(), _index(home)]
    return findings


def _libraries() -> Iterator[Finding]:
    import importlib.metadata

    for name in _LIBRARIES:
        try:
            yield Finding("good", name, importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            yield Finding("bad", name, "not installed: make install")


def _gpu() -> Finding:
    if importlib.util.find_spec("torch") is None:
        return Finding("note", "gpu", "cannot be told without torch")
    import torch

    if torch.cuda.is_available():
        names = [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
        return Finding("good", "gpu", ", ".join(names))
    return Finding("note", "gpu", f"none; {os.cpu_count()} processor cores will do the work")


def _home(home: Home) -> Iterator[Finding]:
    existing = next(folder for folder in [home.root, *home.root.parents] if folder.exists())
    try:
        tempfile.TemporaryDirectory(dir=existing).cleanup()
        yield Finding("good", "DAT_HOME", str(home.root))
    except OSError as error:
        yield Finding("bad", "DAT_HOME", f"{home.root} cannot be written: {error.strerror}")
    free = shutil.disk_usage(existing if existing.is_dir() else Path("/")).free
    yield Finding("good" if free > _LITTLE_ROOM else "note", "free disk", f"{free / 1e9:.1f} GB")


def _network() -> Finding:
    if os.environ.get("HF_HUB_OFFLINE") == "1":
        return Finding("note", "network", "HF_HUB_OFFLINE=1: weights and datasets must be local")
    try:
        socket.create_connection(("huggingface.co", 443), timeout=2).close()
    except OSError:
        return Finding("note", "network", "model hubs cannot be reached: weights and datasets must be local")
    return Finding("good", "network", "model hubs can be reached")


def _index(home: Home) -> Finding:
    condition = index_condition(home)
    sound = condition in ("current", "absent", "behind")
    return Finding("good" if sound else "note", "index", condition if sound else f"{condition}: dat catalog rebuild")

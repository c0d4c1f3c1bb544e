"""`dat explain`."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from data_catalog.home import Home
from data_catalog.index.reader import Questions
from data_catalog.specs.paths import expanded
from flows.cli.terminal.browser import open_page
from flows.cli.terminal.escaping import escape
from flows.cli.terminal.options import AsJson
from flows.cli.terminal.output import console, note, print_json, print_table, warn

if TYPE_CHECKING:
    from tasks.reporting.explanation import Explanation


def explain(
    dataset: Annotated[str, typer.Argument(help="Name of a dataset.", show_default=False)],
    backbone: Annotated[str, typer.Argument(help="Name of a backbone.", show_default=False)],
    sample: Annotated[str, typer.Argument(help="A test sample, by its id.", show_default=False)],
    method: Annotated[str, typer.Option(help="dat or dat_star.")] = "dat",
    variant: Annotated[str, typer.Option(help="Settings other than the dataset's own, such as k=20.")] = "",
    nearest: Annotated[int, typer.Option(min=1, help="How many references of each group to name.")] = 5,
    output: Annotated[
        Path | None, typer.Option("--output", help="Write a page with the images to this folder.")
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open that page in the browser.")] = False,
    as_json: AsJson = False,
) -> None:
    """Take one prediction apart: each group's similarity, density and translated score, and the nearest references.

    Examples:

        dat explain toybirds toyclip test-0007
        dat explain toybirds toyclip test-0007 --method dat_star --open
    """
    from tasks.reporting.explanation import explain as take_apart

    home = Home.from_environment()
    with Questions(home) as questions:
        found = take_apart(questions, dataset, backbone, sample, method=method, variant=variant, nearest=nearest)
        warn(questions.warnings)
    if as_json:
        print_json(asdict(found))
    else:
        _print_explanation(found)
    if output or show:
        folder = expanded(output or home.root / "reports" / _folder_name(f"explain {dataset} {backbone} {sample}"))
        page = _write_explanation(home, found, folder)
        note(str(page))
        if show:
            open_page(page.as_uri())


def _print_explanation(found: "Explanation") -> None:
    console.print(f"[bold]{escape(found.sample_id)}[/] of {escape(found.dataset)} × {escape(found.backbone)}")
    verdict = "right" if found.right else "wrong"
    console.print(
        f"it is {escape(found.truth)}; zero-shot says {escape(found.zero_shot)}, "
        f"{escape(found.method)} says {escape(found.prediction)}: {verdict}"
    )
    rows = [
        (
            group.name,
            f"{group.similarity:.4f}",
            "" if group.density is None else f"{group.density:.4f}",
            "" if group.score is None else f"{group.score:.4g}",
        )
        for group in found.groups
    ]
    print_table(("group", "similarity", "density", "translated"), rows)
    print_table(
        ("class", "similarity", "score"), [(c.name, f"{c.similarity:.4f}", f"{c.score:.4g}") for c in found.classes]
    )
    for group in found.groups:
        near = ", ".join(f"{n.sample_id} ({n.distance:.3f})" for n in group.neighbours)
        console.print(f"nearest of {escape(group.name)}: {escape(near or 'it has no references')}")


def _write_explanation(home: Home, found: "Explanation", folder: Path) -> Path:
    from datetime import UTC, datetime

    from tasks.reporting.document import Report, Section
    from tasks.reporting.examples import illustrated
    from tasks.reporting.publication import publish

    examples = list(illustrated(home, [found]))
    section = Section("examples", "The prediction", examples=examples)
    title = f"{found.sample_id} of {found.dataset} × {found.backbone}"
    return publish(Report(title, datetime.now(UTC), [examples[0].text], [], [section]), folder)


def _folder_name(words: str) -> str:
    """Return a folder's name for a request in words."""
    from tasks.reporting.scope import slugged

    return slugged(*words.split()) or "report"

"""A report as one page that needs nothing beside it."""

import json
import re
from datetime import datetime
from importlib import resources
from typing import TYPE_CHECKING, Any

from tasks.reporting.document import Report

if TYPE_CHECKING:
    from markupsafe import Markup


def as_html(report: Report) -> str:
    """Return the page. Everything that is not our own template is escaped."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    from tasks.reporting.figures import for_page

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    environment.filters["sortable"] = _sortable
    environment.filters["indented"] = _indented
    environment.filters["ticked"] = _ticked
    environment.filters["drawn"] = lambda figure: Markup(for_page(figure))
    page = environment.from_string(_file("page.html.j2"))
    return page.render(
        report=report,
        style=Markup(_file("page.css")),
        script=Markup(_file("page.js")),
        tables_script=Markup(_file("dataTables.min.js")),
    )


def _sortable(value: Any) -> str:
    """Return a value as the table sorts it: what is missing comes last in either way of a first glance."""
    if value is None:
        return "-1e308"
    return str(value.timestamp()) if isinstance(value, datetime) else repr(value)


def _indented(text: str) -> str:
    try:
        return json.dumps(json.loads(text), indent=1, ensure_ascii=False)
    except json.JSONDecodeError:
        return text


def _ticked(text: str) -> "Markup":
    """Return text with what stands between backticks set as code."""
    from markupsafe import Markup, escape

    parts = re.split(r"`([^`]+)`", text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if position % 2 else escape(part) for position, part in enumerate(parts)
    )


def _file(name: str) -> str:
    return (resources.files("tasks.reporting") / "templates" / name).read_text(encoding="utf-8")

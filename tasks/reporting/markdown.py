"""A report as Markdown, for places that show that: pull requests, wikis, notebooks."""

import re
from collections.abc import Iterator, Sequence

from tasks.reporting.document import Column, Record, Report, Section, Table


def as_markdown(report: Report) -> str:
    """Return the report; figures are those in the folder beside it."""
    lines = [f"# {_safe(report.title)}", "", f"Written {report.made:%Y-%m-%d %H:%M} UTC from the catalog.", ""]
    lines += [f"- {_safe(sentence)}" for sentence in report.headline]
    lines += ["", "| " + " | ".join(_safe(words) for _, words in report.tiles) + " |", "|" + "---|" * len(report.tiles)]
    lines += ["| " + " | ".join(_safe(value) for value, _ in report.tiles) + " |", ""]
    for section in report.sections:
        lines += _section(section)
    return "\n".join(lines) + "\n"


def _section(section: Section) -> Iterator[str]:
    yield from (f"## {_safe(section.title)}", "")
    for paragraph in [section.remark, *section.text]:
        if paragraph:
            yield from (_safe(paragraph), "")
    for figure in section.figures:
        yield from (f"![{_safe(figure.alternative)}](figures/{figure.slug}.svg)", "")
    for table in section.tables:
        yield from (f"### {_safe(table.title)}", "")
        if table.caption:
            yield from (_safe(table.caption), "")
        yield from _rows(table.columns, table.records, table)
        yield from ("", f"[CSV](csv/{table.slug}.csv)", "")
    for example in section.examples:
        yield from (f"### {_safe(example.title)}", "", _safe(example.text), "")
        yield from _rows(example.columns, example.records, None)
        yield ""
        for group, pictures in example.neighbours.items():
            yield f"- {_safe(group)}: {_safe('; '.join(picture.words for picture in pictures))}"
        yield ""


def _rows(columns: Sequence[Column], records: Sequence[Record], table: Table | None) -> Iterator[str]:
    yield "| " + " | ".join(_safe(column.title) for column in columns) + " |"
    yield "|" + "".join("---:|" if column.numeric else "---|" for column in columns)
    for row, record in enumerate(records):
        cells = []
        for column in columns:
            text = _safe(column.text(record))
            place = table.places.get((row, column.name)) if table else None
            text = f"**{text}**" if place == 1 else f"<u>{text}</u>" if place == 2 else text
            interval = column.interval_text(record)
            cells.append(f"{text} ({interval})" if interval else text)
        yield "| " + " | ".join(cells) + " |"


def _safe(text: str) -> str:
    """Return text that Markdown shows as it is, on one line."""
    text = re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", "\ufffd", text)  # what a terminal would obey
    parts = re.split(r"(`[^`\r\n]+`)", text)
    plain = "".join(part if position % 2 else _escaped(part) for position, part in enumerate(parts))
    return plain.replace("|", "\\|") if "`" in plain else plain


def _escaped(text: str) -> str:
    text = re.sub(r"([\\`*_{}\[\]<>|#~$])", r"\\\1", text)
    return re.sub(r"\s*[\r\n]\s*", " ", text)

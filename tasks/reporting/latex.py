"""Tables as LaTeX, for papers: booktabs, best in bold, second best underlined, a dash for what is missing."""

from collections.abc import Iterator

from tasks.reporting.document import MISSING, Column, Record, Report, Table

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "×": r"$\times$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "–": "--",
    "−": "$-$",
    "…": r"\dots{}",
    # At the beginning of a row these would be arguments of the end of the row above.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "\n": " ",
    "\r": " ",
    "\t": " ",
}
_CHOSEN = ("results", "ranking", "groups", "ablations", "paper", "costs-methods")
"""Slugs, or their beginnings, of tables that belong into a paper; keys and prompts do not."""


def in_papers(report: Report) -> list[Table]:
    """Return the tables that are written as LaTeX."""
    return [table for table in report.tables if table.slug.split("-")[0] in _CHOSEN or table.slug in _CHOSEN]


def as_document(report: Report) -> str:
    """Return a document that takes in every table, to see them all."""
    lines = [
        r"\documentclass{article}",
        r"\usepackage[T1]{fontenc}",
        r"\usepackage{textcomp}",
        r"\usepackage[landscape,margin=1.5cm]{geometry}",
        r"\usepackage{booktabs,longtable}",
        r"\begin{document}",
        *(rf"\input{{latex/{table.slug}}}" for table in in_papers(report)),
        r"\end{document}",
    ]
    return "\n".join(lines) + "\n"


def as_latex(table: Table) -> str:
    """Return one table, which may run over several pages."""
    columns = [column for column in table.columns if column.kind not in ("code", "moment")]
    kinds = "".join("r" if column.numeric else "p{6cm}" if column.name == "why" else "l" for column in columns)
    heads = " & ".join(rf"\multicolumn{{1}}{{{'r' if c.numeric else 'l'}}}{{{escaped(c.title)}}}" for c in columns)
    caption = escaped(f"{table.title}. {table.caption}".strip().replace("`", ""))
    lines = [
        r"% \usepackage{booktabs,longtable}",
        r"{\small\setlength{\tabcolsep}{4pt}",
        rf"\begin{{longtable}}{{{kinds}}}",
        rf"\caption{{{caption}}}\label{{tab:{table.slug}}}\\",
        rf"\toprule {heads} \\ \midrule \endfirsthead",
        rf"\toprule {heads} \\ \midrule \endhead",
        r"\bottomrule \endfoot",
        *_rows(table, columns),
        r"\end{longtable}}",
    ]
    return "\n".join(lines) + "\n"


def _rows(table: Table, columns: list[Column]) -> Iterator[str]:
    for row, record in enumerate(table.records):
        yield " & ".join(_cell(table, column, record, row) for column in columns) + r" \\"


def _cell(table: Table, column: Column, record: Record, row: int) -> str:
    text = column.text(record)
    if text == MISSING:
        return "--"
    shown = escaped(text)
    if column.kind == "points":
        shown = "$" + text.replace("−", "-") + "$"
    place = table.places.get((row, column.name))
    return rf"\textbf{{{shown}}}" if place == 1 else rf"\underline{{{shown}}}" if place == 2 else shown


def escaped(text: str) -> str:
    """Return text that LaTeX sets as it is; characters that it may not know become a question mark.

    Those are the ones outside Latin-1, and control characters, some of which end its paragraphs.
    """
    known = "".join(_SPECIAL.get(character, character) for character in text)
    return "".join(c if " " <= c < "\x7f" or "\xa0" <= c <= "\xff" else "?" for c in known)

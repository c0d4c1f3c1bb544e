"""What a report's files must never hold, whatever users wrote: anything that is obeyed rather than shown."""

import csv
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from markdown_it import MarkdownIt

_OBEYED = {"html_block", "link_open", "image", "fence", "code_block"}
_OWN_LATEX = re.compile(
    r"\\(?:[{}$&#%_\\ ]|textbackslash\{\}|textasciitilde\{\}|textasciicircum\{\}|textless\{\}|textgreater\{\}|"
    r"textbar\{\}|textquotedbl\{\}|dots\{\}|times|uparrow|downarrow|textbf|underline|multicolumn|caption|label|toprule|"
    r"midrule|bottomrule|endfirsthead|endhead|endfoot|begin\{longtable\}|end\{longtable\}|small|setlength|tabcolsep|"
    r"usepackage)"
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def faults_of_report(folder: Path) -> Iterator[str]:
    """Yield what is wrong with the files of a report."""
    yield from faults_of_page((folder / "index.html").read_text(encoding="utf-8"))
    yield from faults_of_markdown((folder / "report.md").read_text(encoding="utf-8"))
    for path in sorted((folder / "latex").glob("*.tex")):
        yield from (f"{path.name}: {fault}" for fault in faults_of_latex(path.read_text(encoding="utf-8")))
    for path in sorted((folder / "csv").glob("*.csv")):
        yield from (f"{path.name}: {fault}" for fault in faults_of_csv(path))
    for path in sorted((folder / "figures").glob("*.svg")):
        yield from (f"{path.name}: {fault}" for fault in faults_of_page(path.read_text(encoding="utf-8"), scripts=0))


class _Page(HTMLParser):
    """Collects what a browser would obey."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.scripts, self.faults = 0, list[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        if tag in ("iframe", "object", "embed", "base", "form", "foreignobject"):
            self.faults.append(f"an element {tag}")
        for name, value in attrs:
            if name.startswith("on"):
                self.faults.append(f"an attribute {name}={value!r:.80}")
            if name in ("href", "src", "xlink:href", "action") and not _harmless_address(value or ""):
                self.faults.append(f"an address {value!r:.80}")


def _harmless_address(address: str) -> bool:
    own = re.fullmatch(r"#[\w.-]*|[\w./-]+|", address)
    return bool(own) or address.startswith("data:image/") or address == "data:,"


def faults_of_page(text: str, scripts: int = 2) -> Iterator[str]:
    """Yield what a browser would obey in a page, which has two scripts of its own, or in a drawing."""
    page = _Page()
    page.feed(text)
    if page.scripts != scripts:
        yield f"{page.scripts} scripts where {scripts} are ours"
    yield from page.faults


def faults_of_markdown(text: str) -> Iterator[str]:
    """Yield what a renderer of Markdown would obey, beside our own links, images and underlines."""
    for block in MarkdownIt("commonmark", {"html": True}).enable("table").parse(text):
        for token in (block, *(block.children or ())):
            if token.type == "html_inline" and token.content not in ("<u>", "</u>"):
                yield f"HTML {token.content!r:.80}"
            elif token.type in _OBEYED:
                address = str(token.attrGet("href") or token.attrGet("src") or "")
                if not re.fullmatch(r"(csv|figures)/[\w.-]+", address):
                    yield f"{token.type} {address or token.content!r:.80}"


def faults_of_latex(text: str) -> Iterator[str]:
    """Yield commands that are not among ours, and characters that LaTeX stops at."""
    body = "\n".join(line for line in text.splitlines() if not line.startswith("% "))
    for match in re.finditer(r"\\.{0,20}", re.sub(_OWN_LATEX, "", body)):
        yield f"the command {match.group()!r}"
    if any((character < " " and character != "\n") or "\x7f" <= character <= "\x9f" for character in text):
        yield "control characters"
    for match in re.finditer(r"\\\\\s*[\[*]", body):
        yield f"a row that begins with an argument of the one above: {match.group()!r}"


def faults_of_csv(path: Path) -> Iterator[str]:
    """Yield cells that a spreadsheet takes for a formula."""
    with path.open(encoding="utf-8", newline="") as stream:
        for row in csv.reader(stream):
            for cell in row:
                if cell.startswith(_FORMULA) and not re.fullmatch(r"[+-]?[\d.]+(e[+-]?\d+)?", cell):
                    yield f"a formula {cell!r:.80}"

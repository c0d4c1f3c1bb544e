"""The READMEs as a new user reads them: their blocks and commands, and a folder to type them in."""

import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).parents[2]
README = (PROJECT / "README.md").read_text(encoding="utf-8")
BIN = Path(sys.executable).parent
_BLOCK = re.compile(r"```(\w*)\n(.*?)```", re.DOTALL)
_PROGRAMS = "dat|make|prefect|python|pip|source|git|pre-commit"
_COMMAND = re.compile(rf"(?:\$ )?((?:[A-Z_]+=\S+ )*(?:{_PROGRAMS}) .+)")


def pages() -> dict[str, str]:
    """Return what people read, by its path in the project: the pages at its top, and the README of each room."""
    top = [PROJECT / f"{name}.md" for name in ("README", "CONTRIBUTING")]
    rooms = sorted(PROJECT.glob("[!.]*/**/README.md"))
    return {path.relative_to(PROJECT).as_posix(): path.read_text(encoding="utf-8") for path in (*top, *rooms)}


def anchors(text: str) -> set[str]:
    """Return what links may name in a page: its headings in small letters, with hyphens."""
    headings = re.findall(r"^#+ (.*)$", _BLOCK.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def blocks(language: str, page: str = "") -> list[str]:
    """Return the blocks of a language, on all pages or on one; "" for those of the terminal."""
    texts = [text for path, text in pages().items() if page in ("", path)]
    return [block for text in texts for found, block in _BLOCK.findall(text) if found == language]


def languages() -> set[str]:
    """Return the languages of all blocks."""
    return {found for text in pages().values() for found, _ in _BLOCK.findall(text)}


def commands() -> list[str]:
    """Return every command of the pages in their order, once each, without what is said about it behind a `#`."""
    found: list[str] = []
    for text in pages().values():
        typed = [line for language, block in _BLOCK.findall(text) if not language for line in block.splitlines()]
        spoken = re.findall(r"`([^`\n]+)`", _BLOCK.sub("", text))
        matches = (_COMMAND.fullmatch(re.sub(r"\s+#.*", "", line.strip())) for line in (*typed, *spoken))
        found += [match.group(1) for match in matches if match]
    return list(dict.fromkeys(found))


def toml(comment: str) -> str:
    """Return the TOML block that begins with such a comment."""
    return next(block for block in blocks("toml") if block.startswith(comment))


@dataclass(frozen=True)
class Newcomer:
    """Somebody with a folder, a terminal, and a browser that only takes note."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("DAT_", "PREFECT_"))}
        path = f"{BIN}{os.pathsep}{kept.get('PATH', '')}"
        return {**kept, "PATH": path, "BROWSER": "/bin/true", "COLUMNS": "100"}

    def types(self, command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a line as a shell does, in the folder, with further variables of the environment."""
        return subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env={**self.environment, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
        )

    def interrupts(self, command: str, after: str) -> str:
        """Run what goes on for ever, press Ctrl-C when it has said something, and return what it said."""
        process = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        said = ""
        assert process.stdout is not None
        for line in process.stdout:
            said += line
            if after in line:
                process.send_signal(signal.SIGINT)
        process.wait(timeout=30)
        return said

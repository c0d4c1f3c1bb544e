"""The README as a new user types it: its blocks, its commands, and a folder to type them in."""

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
_COMMAND = re.compile(r"(?:\$ )?((?:DAT_HOME=\S+ )?(?:dat|make|prefect) .*)")


def blocks(language: str) -> list[str]:
    """Return the blocks of a language; "" for those of the terminal."""
    return [text for found, text in _BLOCK.findall(README) if found == language]


def commands() -> list[str]:
    """Return every command of the README in its order, once each, without what is said about it behind a `#`."""
    typed = [line for block in blocks("") for line in block.splitlines()]
    spoken = re.findall(r"`((?:dat|make) [^`]+)`", _BLOCK.sub("", README))
    found = (_COMMAND.fullmatch(re.sub(r"\s+#.*", "", line.strip())) for line in (*typed, *spoken))
    return list(dict.fromkeys(match.group(1) for match in found if match))


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

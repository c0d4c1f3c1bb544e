"""Records of runs: what was asked, what was decided about each cell and why, and how it ended.

One JSON-lines file per run, appended to as the run goes on. A run that dies leaves its file without an end; a line that
is cut or damaged is not counted. Runs are numbered, not ordered by the clock, which may go backwards.
"""

import json
import os
import re
import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from filelock import Timeout

from data_catalog.canonical import digest_text
from data_catalog.errors import StoreError, UserError, explained
from data_catalog.home import Home
from data_catalog.store.locking import held, lock, sweep

# What stands around the seal of a line.
_SEAL = ', "seal": "'
_SEALED = '"}'
_SEAL_LENGTH = 16
_WHOLE = re.compile(rf"{re.escape(_SEAL)}.{{{_SEAL_LENGTH}}}{re.escape(_SEALED)}")
"""The end of a line that was written in full."""


def now() -> str:
    """Return the present time as text, in UTC."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


@dataclass
class RunRecord:
    """The open record of a run under way."""

    run_id: str
    _stream: IO[str]

    def start(self, command: str, request: Mapping[str, Any]) -> None:
        """Note what was asked, where and by which process."""
        process = {"host": socket.gethostname(), "pid": os.getpid()}
        opening = {"type": "start", "run_id": self.run_id, "at": now(), "command": command}
        self._write({**opening, **process, "request": dict(request)})

    def decisions(self, decided: Iterable[Mapping[str, Any]]) -> None:
        """Note what was decided and done about cells, at once."""
        self._write(*({"type": "decision", "at": now(), **fields} for fields in decided))

    def end(self, status: str) -> None:
        """Note how the run ended."""
        self._write({"type": "end", "at": now(), "status": status})

    def _write(self, *lines: Mapping[str, Any]) -> None:
        with explained(Path(self._stream.name)):
            self._stream.write("".join(map(_sealed, lines)))
            self._stream.flush()


@contextmanager
def recorded_run(home: Home, command: str, **request: Any) -> Iterator[RunRecord]:
    """Register a run, and note its end: `done`, `failed` (set by the caller through `end`) or `stopped`.

    Lock files of dead processes are removed.
    """
    home.prepare()
    with ExitStack() as alive:
        with _gate(home):
            run_id = f"r{_last_number(home) + 1:06d}"
            alive.enter_context(lock(_run_lock(home, run_id)))
            with explained(home.runs):
                stream = (home.runs / f"{run_id}.jsonl").open("x", encoding="utf-8")
            alive.callback(_close, stream)
        sweep(home.locks)
        record = RunRecord(run_id, stream)
        record.start(command, request)
        try:
            yield record
        except BaseException:
            with suppress(StoreError):
                record.end("stopped")
            raise


@contextmanager
def no_runs(home: Home) -> Iterator[None]:
    """Hold off new runs; a `UserError` when one is under way."""
    with _gate(home):
        for path in sorted((home.locks / "runs").glob("*.lock")):
            if held(path):
                raise UserError(
                    f"run {path.stem} is under way",
                    where=str(home.root),
                    remedy="wait until it ends, or stop it",
                )
        yield


@dataclass(frozen=True)
class RecordLines:
    """The lines of a record that can be trusted, and how many others there are."""

    lines: list[dict[str, Any]]
    damaged: int


def read_run(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a record, without those that a crash has cut or that are damaged."""
    return read_record(path).lines


def read_record(path: Path) -> RecordLines:
    """Read a record. A last line that a crash has cut off is not there, and no damage.

    Records of earlier versions have no seals; in one that has any, a line without is damaged.
    """
    try:
        texts = path.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return RecordLines([], 1)
    sealed = any(_SEAL in text for text in texts)
    lines, damaged = [], 0
    for number, text in enumerate(texts, start=1):
        line = _parsed(text) if _is_intact(text) or not sealed else None
        if line is None:
            cut_off = number == len(texts) and not _WHOLE.search(text)
            damaged += bool(text) and not cut_off
        elif line.get("type") in ("start", "decision", "end") and isinstance(line.get("address", {}), dict):
            lines.append(line)
    return RecordLines(lines, damaged)


def is_running(home: Home, run_id: str) -> bool:
    """Whether the run's process is alive."""
    return held(_run_lock(home, run_id))


def _sealed(line: Mapping[str, Any]) -> str:
    """Return the text of a line, whose last field is a digest of the text without it."""
    body = json.dumps(line, ensure_ascii=False)
    return f"{body.removesuffix('}')}{_SEAL}{digest_text(body)[:_SEAL_LENGTH]}{_SEALED}\n"


def _is_intact(text: str) -> bool:
    body, _, rest = text.rpartition(_SEAL)
    return rest == digest_text(body + "}")[:_SEAL_LENGTH] + _SEALED


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        line = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return line if isinstance(line, dict) else None


def _close(stream: IO[str]) -> None:
    """Close a record; what a full disk has refused before, and refuses again, has been reported already."""
    with suppress(OSError):
        stream.close()


def _last_number(home: Home) -> int:
    numbers = [path.stem[1:] for path in home.runs.glob("r*.jsonl")]
    return max((int(number) for number in numbers if number.isdigit()), default=0)


def _run_lock(home: Home, run_id: str) -> Path:
    return home.locks / "runs" / f"{run_id}.lock"


@contextmanager
def _gate(home: Home) -> Iterator[None]:
    try:
        with lock(home.locks / "gate.lock", wait=30):
            yield
    except Timeout:
        raise UserError(
            "garbage collection is under way", where=str(home.root), remedy="try again when it has ended"
        ) from None

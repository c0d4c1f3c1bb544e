"""Digests of files that users bring, remembered while a file keeps its size and time, since weights are large."""

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from data_catalog.canonical import digest_json
from data_catalog.errors import StoreError, UserError
from data_catalog.store import file_digest, write_atomically


@dataclass(frozen=True)
class FileDigests:
    """Digests kept in one small JSON file, which may be lost at any time."""

    memory: Path

    def of(self, path: Path) -> str:
        """Return the digest of a file, or of all files below a folder with their names."""
        if path.is_dir():
            files = sorted(file for file in path.rglob("*") if file.is_file())
            return digest_json({str(file.relative_to(path)): self._of_file(file) for file in files})
        if not path.is_file():
            raise UserError("there is no such file or folder", where=str(path))
        return self._of_file(path)

    def _of_file(self, path: Path) -> str:
        status = path.stat()
        stamp = [status.st_size, status.st_mtime_ns]
        known = self._known()
        if known.get(str(path), [None, None])[0] != stamp:
            try:
                known[str(path)] = [stamp, file_digest(path)]
            except OSError as error:
                raise UserError(f"cannot be read: {error.strerror or error}", where=str(path)) from error
            with suppress(StoreError, OSError):
                self.memory.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(self.memory, json.dumps(known))
        return str(known[str(path)][1])

    def _known(self) -> dict[str, list[object]]:
        with suppress(OSError, ValueError, RecursionError):
            known = json.loads(self.memory.read_text(encoding="utf-8"))
            if isinstance(known, dict):
                return {path: entry for path, entry in known.items() if isinstance(entry, list) and len(entry) == 2}
        return {}

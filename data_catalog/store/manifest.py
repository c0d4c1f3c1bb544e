"""The manifest: the small JSON file whose appearance commits an artifact."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from data_catalog.canonical import digest_text
from data_catalog.errors import UserError
from data_catalog.planning.cell import FORMAT

# How the text of a manifest ends, without its digest; and what stands around the digest.
_END = "\n}"
_SEAL = ',\n "digest": "'
_SEALED = '"\n}\n'


@dataclass(frozen=True)
class StoredFile:
    """One Parquet file of an artifact; `path` is relative to `DAT_HOME`."""

    path: str
    sha256: str
    bytes: int
    rows: int


@dataclass(frozen=True)
class Parent:
    """One input of an artifact: which artifact it was, and the content that entered the key."""

    key: str
    content: str


@dataclass(frozen=True)
class Manifest:
    """Everything known about one artifact. `summary` holds the few values that are asked for most."""

    key: str
    step: str
    cell: str
    address: Mapping[str, str | int]
    code: Mapping[str, str]
    params: Mapping[str, Any]
    facts: Mapping[str, Any]
    parents: Mapping[str, Parent]
    content: str
    rows: int
    files: tuple[StoredFile, ...]
    created: str
    run_id: str | None = None
    summary: Mapping[str, Any] = field(default_factory=dict)
    cost: Mapping[str, Any] = field(default_factory=dict)
    resources: Mapping[str, Any] = field(default_factory=dict)
    format: int = FORMAT

    @property
    def bytes(self) -> int:
        """Size of all files."""
        return sum(file.bytes for file in self.files)

    def to_json(self) -> str:
        """Return the text of the manifest file, whose last field is the digest of the text without it."""
        body = json.dumps(asdict(self), indent=1, ensure_ascii=False, allow_nan=False)
        return f"{body.removesuffix(_END)}{_SEAL}{digest_text(body)}{_SEALED}"


def parse_manifest(text: str | bytes) -> Manifest:
    """Read a manifest; `ValueError` when it is damaged, `UserError` when a newer version wrote it."""
    body, seal, rest = (text if isinstance(text, str) else text.decode("utf-8")).rpartition(_SEAL)
    if not seal or rest != f"{digest_text(body + _END)}{_SEALED}":
        raise ValueError("does not match its own digest")
    try:
        data = json.loads(body + _END)
    except RecursionError as error:
        raise ValueError("is nested too deeply") from error
    if data["format"] > FORMAT:
        raise UserError(
            f"manifest format {data['format']} is newer than this version reads ({FORMAT})",
            remedy="use the newer dat-bench that wrote it, or another DAT_HOME",
        )
    data["parents"] = {role: Parent(**parent) for role, parent in data["parents"].items()}
    data["files"] = tuple(StoredFile(**file) for file in data["files"])
    manifest = Manifest(**data)
    _check(manifest)
    return manifest


_TEXTS = ("key", "step", "cell", "content", "created")
_TABLES = ("address", "code", "params", "facts", "summary", "cost", "resources")


def _check(manifest: Manifest) -> None:
    """Refuse, with a `ValueError`, what no version of ours has written, however well it is sealed.

    A path that leads out of the home is the worst of it: what it names would be set aside as damaged.
    """
    texts = [getattr(manifest, name) for name in _TEXTS]
    texts += [text for parent in manifest.parents.values() for text in (parent.key, parent.content)]
    texts += [text for file in manifest.files for text in (file.path, file.sha256)]
    counts = [manifest.rows, *(count for file in manifest.files for count in (file.bytes, file.rows))]
    if not (
        all(isinstance(text, str) for text in texts)
        and all(isinstance(getattr(manifest, name), dict) for name in _TABLES)
        and all(isinstance(count, int) for count in counts)
        and all(isinstance(part, str | int) for part in manifest.address.values())
        and all(isinstance(digest, str) for digest in manifest.code.values())
        and isinstance(manifest.run_id, str | None)
    ):
        raise ValueError("has a field of another kind than it should")
    for file in manifest.files:
        if file.path.startswith("/") or ".." in file.path.split("/"):
            raise ValueError("names a file outside the home")

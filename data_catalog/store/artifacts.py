"""The artifact store: immutable Parquet files, committed by manifests.

Files are named by the digest of their bytes, so two processes that publish the same thing write the same file. The
manifest is linked into place last and never replaced: whoever comes second adopts the first one's. A process that dies
leaves at most files nobody refers to, which `gc` removes.
"""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from data_catalog.errors import DamagedError, StoreError, UserError, explained
from data_catalog.home import Home
from data_catalog.store.file_digest import file_digest, opened
from data_catalog.store.locking import lock
from data_catalog.store.manifest import Manifest, StoredFile, parse_manifest

if TYPE_CHECKING:
    import pyarrow as pa


class Store:
    """Artifacts of one `DAT_HOME`, which was prepared before it is written to.

    Nothing here makes the folders of a home: one that goes away during a run is missed, not made again in its place.
    """

    def __init__(self, home: Home) -> None:
        self.home = home

    def manifest_path(self, step: str, key: str) -> Path:
        """Return where the manifest of an artifact lies, if it is committed."""
        return self.home.manifests / step / f"{key}.json"

    def find(self, step: str, key: str) -> Manifest | None:
        """Return the manifest of a committed artifact, None when there is none; `DamagedError` when it is garbled."""
        path = self.manifest_path(step, key)
        with explained(self.home.root, "cannot be read"):
            try:
                text = _content(path)
            except (FileNotFoundError, NotADirectoryError):
                return None
        try:
            manifest = parse_manifest(text)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise DamagedError(f"manifest is damaged ({error})", step=step, key=key, where=str(path)) from error
        except UserError as error:
            raise UserError(error.problem, where=str(path), remedy=error.remedy) from error
        if manifest.key != key or manifest.step != step:
            raise DamagedError("manifest belongs to another artifact", step=step, key=key, where=str(path))
        return manifest

    def listing(self, step: str | None = None) -> Iterator[tuple[str, str]]:
        """Yield (step, key) of every committed artifact, or those of one step, from file names alone."""
        for found_step, key, _ in self._files(step):
            yield found_step, key

    def stamps(self) -> dict[tuple[str, str], int]:
        """Return {(step, key): time its manifest was written, in nanoseconds} of every committed artifact."""
        stamps = {}
        for step, key, entry in self._files():
            with suppress(FileNotFoundError):
                stamps[step, key] = entry.stat(follow_symlinks=False).st_mtime_ns
        return stamps

    def _files(self, step: str | None = None) -> Iterator[tuple[str, str, os.DirEntry[str]]]:
        steps = [step] if step is not None else [entry.name for entry in _entries(self.home.manifests)]
        for name in steps:
            for entry in _entries(self.home.manifests / name):
                if entry.name.endswith(".json"):
                    yield name, entry.name[: -len(".json")], entry

    def manifests(self, step: str | None = None) -> Iterator[Manifest]:
        """Yield every readable manifest, or those of one step; damaged ones are left to `verify`."""
        for found_step, key in self.listing(step):
            with suppress(DamagedError):
                manifest = self.find(found_step, key)
                if manifest is not None:
                    yield manifest

    def absent_file(self, manifest: Manifest) -> StoredFile | None:
        """Return a file of the artifact that is not there in its full size, None when all are."""
        for file in manifest.files:
            try:
                size = (self.home.root / file.path).stat().st_size
            except OSError:
                return file
            if size != file.bytes:
                return file
        return None

    def check(self, manifest: Manifest, file: StoredFile) -> None:
        """Re-digest a file; `DamagedError` when it is not what was published."""
        path = self.home.root / file.path
        try:
            found = file_digest(path)
        except OSError as error:
            if not self.home.objects.is_dir():  # not this file is gone, but the whole store
                raise self._lost() from error
            problem = f"cannot be read ({error.strerror})"
        else:
            if found == file.sha256:
                return
            problem = "has changed since it was published"
        raise DamagedError(f"{problem} ({manifest.cell})", step=manifest.step, key=manifest.key, where=str(path))

    def _lost(self) -> StoreError:
        """Return the error for a store whose artifacts are gone, which says what of it is not there."""
        if not self.home.root.is_dir():
            return StoreError("the folder is gone", where=str(self.home.root), remedy="bring it back")
        remedy = "bring it back, or have `dat run` compute again what was in it"
        return StoreError("the folder is gone, and with it all artifacts", where=str(self.home.objects), remedy=remedy)

    def read(self, manifest: Manifest) -> "pa.Table":
        """Return the artifact's table, after checking that every byte is as published."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        tables = []
        for file in manifest.files:
            self.check(manifest, file)
            tables.append(pq.read_table(self.home.root / file.path, memory_map=True))
        return pa.concat_tables(tables)

    @contextmanager
    def computing(self, key: str, *, wait: float = -1) -> Iterator[Path]:
        """Hold a key's lock and give its staging folder, so that each key is computed by one process at a time.

        After `wait` seconds (-1: never) `Timeout` is raised. The lock frees itself when the process dies. Shards that a
        failed or dead holder left belong to the next one.
        """
        with lock(self.home.locks / f"{key}.lock", wait=wait):
            folder = self.home.staging / key
            with explained(self.home.root):
                folder.mkdir(exist_ok=True)
            try:
                yield folder
            except BaseException:
                with suppress(OSError):
                    folder.rmdir()  # succeeds when there is no shard in it
                raise
            shutil.rmtree(folder, ignore_errors=True)

    def keep_shard(self, folder: Path, number: int, table: "pa.Table") -> None:
        """Write one shard into a staging folder, complete or not at all; its name holds its digest."""
        draft = folder / "shard.draft"
        with explained(self.home.root):
            try:
                _write_parquet(table, draft)
                for former in folder.glob(f"shard-{number:06d}-*"):
                    former.unlink()
                draft.replace(folder / f"shard-{number:06d}-{file_digest(draft)}.parquet")
            finally:
                draft.unlink(missing_ok=True)

    def resumed_shards(self, folder: Path) -> dict[int, Path]:
        """Return the shards that an interrupted attempt has left, without those that are damaged, which are removed."""
        with explained(self.home.root):
            for path in folder.glob("shard-*"):
                if not path.stem.endswith(file_digest(path)):
                    path.unlink()
        return self.kept_shards(folder)

    def kept_shards(self, folder: Path) -> dict[int, Path]:
        """Return {number: file} of the shards in a staging folder, in order."""
        return {int(path.stem.split("-")[1]): path for path in sorted(folder.glob("shard-*.parquet"))}

    def add_shards(self, step: str, folder: Path) -> tuple[StoredFile, ...]:
        """Move the shards of a staging folder to their place, in order."""
        import pyarrow.parquet as pq

        with explained(self.home.root):
            paths = self.kept_shards(folder).values()
            return tuple(self._add_file(step, path, pq.read_metadata(path).num_rows) for path in paths)

    def _add_file(self, step: str, draft: Path, rows: int) -> StoredFile:
        digest, size = file_digest(draft), draft.stat().st_size
        place = self.home.objects / step / f"{digest}.parquet"
        place.parent.mkdir(exist_ok=True)
        # The same name means the same bytes, so replacing is safe, and it heals a damaged file.
        draft.replace(place)
        _flush(place.parent)
        return StoredFile(str(place.relative_to(self.home.root)), digest, size, rows)

    def commit(self, manifest: Manifest) -> Manifest:
        """Make an artifact visible. When another process was first, its manifest is returned and ours forgotten."""
        place = self.manifest_path(manifest.step, manifest.key)
        with explained(self.home.root):
            place.parent.mkdir(exist_ok=True)
            draft = place.parent / f".{manifest.key}.{os.getpid()}.{os.urandom(4).hex()}"
            try:
                with draft.open("x", encoding="utf-8") as stream:
                    stream.write(manifest.to_json())
                    stream.flush()
                    os.fsync(stream.fileno())
                os.link(draft, place)
            except FileExistsError:
                winner = self.find(manifest.step, manifest.key)
                assert winner is not None
                return winner
            finally:
                draft.unlink(missing_ok=True)
            _flush(place.parent)
        with suppress(OSError):
            (self.home.quarantine / f"{manifest.key}.json").unlink()
        return manifest

    def quarantined(self, key: str) -> bool:
        """Whether this artifact was set aside as damaged and has not been computed again since."""
        return (self.home.quarantine / f"{key}.json").exists()

    def aside(self) -> Iterator[tuple[str, Manifest | None]]:
        """Yield (key, manifest) of every artifact that was set aside; None for a manifest that cannot be read."""
        for path in sorted(self.home.quarantine.glob("*.json")):
            manifest = None
            with suppress(OSError, ValueError, TypeError, KeyError, AttributeError, UserError):
                manifest = parse_manifest(_content(path))
            yield path.stem, manifest

    def set_aside(self, step: str, key: str, damaged: StoredFile | None = None) -> None:
        """Move a damaged artifact to the quarantine: from now on it is not there, and planned as `corrupt`."""
        if damaged is None and not self.manifest_path(step, key).exists():
            return
        with explained(self.home.root):
            self.home.quarantine.mkdir(exist_ok=True)
            if damaged is not None:
                path = self.home.root / damaged.path
                with suppress(FileNotFoundError):
                    path.replace(self.home.quarantine / f"{step}-{path.name}")
            with suppress(FileNotFoundError):
                self.manifest_path(step, key).replace(self.home.quarantine / f"{key}.json")


def _write_parquet(table: "pa.Table", path: Path) -> None:
    """Write a table with checksums, vectors uncompressed (they hardly shrink and read far slower), to the disk."""
    import pyarrow.parquet as pq

    compression = {name: "NONE" if name == "embedding" else "ZSTD" for name in table.column_names}
    pq.write_table(table, path, compression=compression, write_page_checksum=True)
    _flush(path)


def _content(path: Path) -> bytes:
    """Return the bytes of a file; none of what is no file."""
    try:
        with opened(path) as stream:
            return stream.read()
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.ELOOP):
            return b""
        raise


def write_atomically(path: Path, text: str) -> None:
    """Write a small text file into a folder that is there; readers see the old or the new text, never a part."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    with explained(path.parent):
        try:
            draft.write_text(text, encoding="utf-8")
            _flush(draft)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if not entry.name.startswith(".")]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _flush(path: Path) -> None:
    """Force a file or folder to the disk, so that the order of writes survives a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""Running a `dat` command on hostile input, and judging it: no stack trace, no hang, no write outside `DAT_HOME`."""

import io
import os
import resource
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

EXIT_CODES = (0, 1, 2, 3)
REFUSED = 2
LONGEST_MESSAGE = 20_000
MEMORY = 1_500
"""MiB by which one command may make the largest memory of the process grow."""

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = {
    "os.rename": ((0, 2), (1, 3)),
    "os.remove": ((0, 1),),
    "os.mkdir": ((0, 2),),
    "os.rmdir": ((0, 1),),
    "os.link": ((1, 3),),
    "os.symlink": ((1, 2),),
    "os.truncate": ((0, None),),
    "os.chmod": ((0, 2),),
    "os.chown": ((0, 3),),
    "os.utime": ((0, 3),),
}
"""Events that change files: which of their arguments are paths, and which the folders that those start from."""
_FORBIDDEN = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "socket.connect")
_CACHES = tuple(str(Path(place).expanduser()) for place in ("~/.cache/matplotlib", "~/.config/matplotlib"))
_HARMLESS = ("/dev/null", "/dev/tty", "/proc/self", *_CACHES)
"""What matplotlib keeps of fonts is the machine's, whatever is drawn."""


@dataclass(frozen=True)
class World:
    """A folder of its own for one case: `home` is `DAT_HOME`, `work` is the current folder with the user's files."""

    folder: Path

    @property
    def home(self) -> Path:
        """Where all state lives, and the only place that may be written to."""
        return self.folder / "home"

    @property
    def work(self) -> Path:
        """Where the user's files lie."""
        return self.folder / "work"

    def stored(self) -> dict[str, tuple[int, int]]:
        """All artifacts and specs in the home, with size and time."""
        if not self.home.is_dir():
            return {}
        places = [self.home / name for name in ("manifests", "objects", "quarantine", "specs")]
        files = [path for place in places for path in place.rglob("*") if path.is_symlink() or not path.is_dir()]
        return {str(path): (status.st_size, status.st_mtime_ns) for path in files if (status := path.lstat())}

    def surroundings(self) -> dict[str, tuple[int, int, int]]:
        """Everything beside the home, with kind, size and time: native code writes unseen by Python's audit."""
        found = {}
        for folder, names, files in os.walk(self.folder):
            if Path(folder) == self.folder:
                names[:] = [name for name in names if name != "home"]
            for name in (*names, *files):
                status = (Path(folder) / name).lstat()
                # A folder's time changes when a file beside it is made and removed again, which the audit tells.
                size, moment = (0, 0) if name in names else (status.st_size, status.st_mtime_ns)
                found[str(Path(folder, name))] = (status.st_mode, size, moment)
        return found


@dataclass(frozen=True)
class Ran:
    """What came of a command; `faults` says what is wrong with that, and is empty where nothing is."""

    words: tuple[str, ...]
    code: int
    out: str
    err: str
    faults: tuple[str, ...]


class TooLongError(BaseException):
    """A command took longer than it may; no handler of ordinary errors catches it."""


@dataclass
class _Watch:
    """What a command does; threads that other tests have left behind are none of its doing."""

    allowed: str
    others: frozenset[int]
    seen: list[str] = field(default_factory=list)

    def notice(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = arguments
            writes = (flags & _WRITING) if isinstance(flags, int) else any(letter in mode for letter in "wax+")
            if writes:
                self._check(event, path)
        elif event in _CHANGES:
            for path, folder in _CHANGES[event]:
                self._check(event, arguments[path], arguments[folder] if folder is not None else -1)
        elif event in _FORBIDDEN:
            self.seen.append(f"{event} {arguments!r:.200}")
            raise PermissionError(f"{event} is not for reading files")

    def _check(self, event: str, path: Any, folder: int = -1) -> None:
        if isinstance(path, int):
            return
        place = Path(f"/proc/self/fd/{folder}").resolve() if folder >= 0 else Path.cwd()
        named = place / os.fsdecode(path)
        # What a name stands for counts, except for the last part of it: a link is replaced, not followed.
        real = str(named.resolve() if event == "open" else named.parent.resolve() / named.name)
        inside = real == self.allowed or real.startswith(self.allowed + os.sep)
        if not inside and not real.startswith(_HARMLESS) and "__pycache__" not in real:
            self.seen.append(f"{event} {real}")
            raise PermissionError(f"{event} {real} is outside DAT_HOME")  # what the machine needs is not put at risk


_watch: _Watch | None = None
_hooked = False


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    watch = _watch
    if watch is None or threading.get_ident() in watch.others:
        return
    if event == "open" or event in _CHANGES or event in _FORBIDDEN:
        watch.notice(event, arguments)


@contextmanager
def watched(allowed: Path) -> Iterator[list[str]]:
    """Give the list of what is written outside `allowed`, of programs started and of connections made."""
    global _watch, _hooked
    if not _hooked:
        sys.addaudithook(_hook)  # cannot be taken away again, so there is one for all
        _hooked = True
    before = {thread.ident for thread in threading.enumerate()} - {threading.get_ident(), None}
    _watch = watch = _Watch(os.path.realpath(allowed), frozenset(before))
    try:
        yield watch.seen
    finally:
        _watch = None


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `TooLongError` in here after so many seconds, and leave an alarm that was set before as it was."""

    def end(*_: object) -> None:
        raise TooLongError

    former = signal.signal(signal.SIGALRM, end)
    rest, interval = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, rest, interval)
        signal.signal(signal.SIGALRM, former)


@contextmanager
def _inside(world: World) -> Iterator[None]:
    """Make the world's folders those that commands use."""
    environment, folder = dict(os.environ), Path.cwd()
    for name in ("DAT_SPECS", "DAT_DATA"):
        os.environ.pop(name, None)
    os.environ |= {
        "DAT_HOME": str(world.home),
        "DAT_RUNNER": "inline",
        "DAT_REPORT": "false",
        "DAT_WORKERS": "0",
        "DAT_DEVICE": "cpu",
        "HF_HUB_OFFLINE": "1",
    }
    os.chdir(world.work)
    try:
        yield
    finally:
        os.chdir(folder)
        os.environ.clear()
        os.environ |= environment


def dat(world: World, *words: str, limit: float = 60, stdin: str = "") -> Ran:
    """Run a command in this process, watch what it does, and say what is wrong with what came of it."""
    from flows.cli.app import run

    streams = sys.argv, sys.stdin, sys.stdout, sys.stderr
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", errors) for errors in ("strict", "backslashreplace"))
    faults: list[str] = []
    code, before, memory, stored = -1, world.surroundings(), _largest_memory(), world.stored()
    with _inside(world), watched(world.home) as written:
        sys.argv, sys.stdin, sys.stdout, sys.stderr = ["dat", *words], io.StringIO(stdin), out, err
        try:
            with limited(limit):
                code = run()
        except TooLongError:
            faults.append(f"took longer than {limit:g} s")
        except BaseException as error:
            import traceback

            faults.append("ended with a stack trace: " + "".join(traceback.format_exception(error))[-3000:])
        finally:
            sys.argv, sys.stdin, sys.stdout, sys.stderr = streams
    faults += [f"reached outside DAT_HOME: {act}" for act in dict.fromkeys(written)]
    after = world.surroundings()
    faults += [f"changed {name}" for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
    if code == REFUSED and world.stored() != stored:
        faults.append("was refused before it began, and has changed what is stored")
    if _largest_memory() - memory > MEMORY:
        faults.append(f"took {_largest_memory() - memory:.0f} MiB more memory than anything before")
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode("utf-8"))  # type: ignore[attr-defined]
    ran = Ran(words, code, texts[0], texts[1], tuple(faults))
    return Ran(words, code, ran.out, ran.err, (*faults, *_faults_of_text(ran)))


def _faults_of_text(ran: Ran) -> Iterator[str]:
    if ran.code not in EXIT_CODES and not ran.faults:
        yield f"exit code {ran.code}"
    for name, text in (("stdout", ran.out), ("stderr", ran.err)):
        if "Traceback (most recent call last)" in text:
            yield f"a stack trace on {name}: {text[-3000:]}"
        raw = "csv" in ran.words or "json" in ran.words or "--json" in ran.words
        if not (raw and name == "stdout") and any(_commands_a_terminal(character) for character in set(text)):
            yield f"characters that command a terminal on {name}: {text[-500:]!r}"
    if ran.code in (1, 2) and not (ran.err.strip() or ran.out.strip()):
        yield "refused without a word"
    if len(ran.err) > LONGEST_MESSAGE:
        yield f"a message of {len(ran.err)} characters: {ran.err[:300]!r}"


def _commands_a_terminal(character: str) -> bool:
    return (character < " " and character not in "\n\t") or "\x7f" <= character <= "\x9f"


def _largest_memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

"""How long `dat plan` takes over a dataset of many image files: the first time, when it reads all, and later.

Beside it: a plain loop that reads and digests each file, and one that asks for the status of each.
"""

import argparse
import hashlib
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tests.benchmarks.timing import DAT, Row, Timing, command, hand_on, measure, print_table

_FOLDER = 1000
_TOUCHED = 100


def main() -> None:
    """Time plans over a dataset that nobody has looked at, and over one that is known."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=200_000)
    parser.add_argument("--bytes", type=int, default=4000, help="of each file")
    parser.add_argument("--repeat", type=int, default=5, help="of what does not read all files")
    arguments = parser.parse_args()
    with TemporaryDirectory(prefix="dat-bench-") as place:
        folder = Path(place)
        paths = _dataset(folder, arguments.files, arguments.bytes)
        words = [DAT, "plan", "--dataset", "many", "--backbone", "toyclip", "--method", "zero_shot"]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("DAT_")}
        plan = command(words, environment={**kept, "DAT_HOME": str(folder / "home")}, folder=folder)
        read = measure(lambda: _read(paths), repeat=1)
        first = measure(plan, repeat=1)
        asked = measure(lambda: [os.stat(path) for path in paths], repeat=arguments.repeat)  # noqa: PTH116
        later = measure(plan, repeat=arguments.repeat)
        touched = measure(plan, repeat=arguments.repeat, prepare=lambda: [Path(p).touch() for p in paths[:_TOUCHED]])
        start = measure(command([DAT, "ls", "suites"], environment=kept, folder=folder), repeat=arguments.repeat)
    rows = {
        "each file read and digested by a plain loop": read,
        "dat plan, the first time: reads all": first,
        "the status of each file by a plain loop": asked,
        "dat plan, later: reads none": later,
        f"dat plan, later, {_TOUCHED} files touched: reads those": touched,
        "dat ls suites: the start of a command": start,
    }
    print(f"{arguments.files:,} files of {arguments.bytes:,} bytes")
    columns = [(what, timing.median, timing.spread, timing.processor_median) for what, timing in rows.items()]
    print_table(("what", "median s", "range", "processor s"), columns)
    size = f"{arguments.files:,} image files"
    hand_on(
        [
            _row(f"the first plan over {size}", first, "each read and digested by a plain loop", read),
            _row(f"a later plan over {size}", later, "the status of each by a plain loop", asked),
        ]
    )


def _row(what: str, ours: Timing, beside: str, peer: Timing) -> Row:
    return Row(what, f"{ours.median:.1f} s", f"{beside}: {peer.median:.1f} s", ours.median / peer.median)


def _dataset(folder: Path, files: int, size: int) -> list[str]:
    """Write files of noise, which a plan never decodes, their table and the specs; return the paths."""
    noise, lines, paths = np.random.default_rng(0), ["file,label,attribute,split"], []
    for row in range(files):
        name = f"{row // _FOLDER:04d}/{row:07d}.jpg"
        path = folder / "many" / name
        if row % _FOLDER == 0:
            path.parent.mkdir(parents=True)
        path.write_bytes(noise.bytes(size))
        lines.append(f"{name},{row % 2},{row // 2 % 2},{'test' if row % 4 == 0 else 'train'}")
        paths.append(str(path))
    (folder / "many/samples.csv").write_text("\n".join(lines) + "\n")
    (folder / "specs/datasets").mkdir(parents=True)
    (folder / "specs/datasets/many.toml").write_text(
        'prompts = "toybirds"\n[source]\nkind = "sample_table"\nroot = "../../many"\n'
    )
    return paths


def _read(paths: list[str]) -> None:
    for path in paths:
        hashlib.sha256(Path(path).read_bytes()).hexdigest()


if __name__ == "__main__":
    main()

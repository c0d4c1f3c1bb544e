"""A dataset of small images in a CSV and tiny models, named by specs in a folder, as a user would write them."""

from pathlib import Path

import numpy as np
from PIL import Image

from tests.dat_lib.backbones.small_models import save_small_transformers

_PROMPTS = (
    'classes = ["round", "square"]\nattributes = ["dark", "light"]\n[prompts]\nclass = "a {class}"\n'
    'attribute = "{a attribute} background"\ngroup = "a {class} on {attribute}"\n'
)


def add_dataset(folder: Path, name: str, rows: int, seed: int = 0, size: tuple[int, int] = (40, 30)) -> Path:
    """Write `rows` images of noise and their table into `folder/name`, and the specs; return the dataset's folder."""
    root = folder / name
    root.mkdir()
    rng = np.random.default_rng(seed)
    lines = ["file,label,attribute,split"]
    for row in range(rows):
        Image.fromarray(rng.integers(0, 255, (*size, 3), dtype=np.uint8)).save(root / f"{row}.png")
        split = "train" if row < rows // 2 else "test"
        lines.append(f"{row}.png,{['round', 'square'][row % 2]},{row // 2 % 2},{split}")
    (root / "samples.csv").write_text("\n".join(lines) + "\n")
    for kind in ("datasets", "backbones", "prompts"):
        (folder / "specs" / kind).mkdir(parents=True, exist_ok=True)
    (folder / "specs/prompts/blobs.toml").write_text(_PROMPTS)
    add_dataset_spec(folder, name)
    return root


def add_dataset_spec(folder: Path, name: str, kind: str = "sample_table", settings: str = "") -> None:
    """Write the spec of a dataset whose files are in `folder/name`."""
    (folder / f"specs/datasets/{name}.toml").write_text(
        f'prompts = "blobs"\n[source]\nkind = "{kind}"\nroot = "../../{name}"\n{settings}'
    )


def add_backbone(folder: Path, name: str, seed: int) -> None:
    """Make a tiny model and its spec."""
    save_small_transformers("clip", folder / "models" / name, seed=seed)
    (folder / f"specs/backbones/{name}.toml").write_text(f'kind = "transformers"\nweights = "../../models/{name}"\n')

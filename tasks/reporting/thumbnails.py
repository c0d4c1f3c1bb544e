"""Small pictures of samples, to stand in a page."""

import base64
import io
from collections.abc import Iterable

from data_catalog.home import Home
from data_catalog.store.artifacts import Store
from tasks.loaders import open_dataset

_SIDE = 128


def thumbnails(home: Home, files_key: str | None, sample_ids: Iterable[str]) -> dict[str, str]:
    """Return {sample: picture as a data address} for those whose image can still be opened.

    Embeddings that were imported or simulated have no images.
    """
    wanted = set(sample_ids)
    manifest = Store(home).find("files", files_key) if files_key else None
    if manifest is None or not wanted:
        return {}
    try:
        dataset = open_dataset(manifest.params, manifest.resources.get("root"))
        rows = {name: row for row, name in enumerate(dataset.samples().sample_ids.tolist()) if name in wanted}
    except (OSError, ValueError, KeyError):  # moved away since, or kept by a version that did not name their kind
        return {}
    found = {}
    for name, row in rows.items():
        try:
            image = dataset.open_image(row).convert("RGB")
        except (OSError, ValueError):
            continue
        image.thumbnail((_SIDE, _SIDE))
        data = io.BytesIO()
        image.save(data, "JPEG", quality=85)
        found[name] = "data:image/jpeg;base64," + base64.b64encode(data.getvalue()).decode()
    return found

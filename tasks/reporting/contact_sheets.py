"""Contact sheets: the images that stand for each group, in the order in which they were chosen."""

import base64
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tasks.reporting.document import Figure, Record
from tasks.reporting.figures import draw, shortened
from tasks.reporting.scope import Scope, literal, slugged
from tasks.reporting.thumbnails import thumbnails

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_GROUPS = 12
_MOST_IMAGES = 8
_GAP = 0.06


def contact_sheets(scope: Scope, dataset: str, backbone: str) -> Iterator[Figure]:
    """Yield the sheet of DAT's references on a dataset and backbone, where images are at hand."""
    where = f"dataset = {literal(dataset)} AND backbone = {literal(backbone)} AND variant = '' AND seed = 0"
    rows = scope.ask(
        "SELECT group_name, sample_id, place, group_size FROM diagnostic_exemplars "
        f"WHERE {where} AND method = 'dat' AND place <= {_MOST_IMAGES} ORDER BY label, attribute, place"
    )
    groups = list(dict.fromkeys(str(row["group_name"]) for row in rows))[:_MOST_GROUPS]
    files = scope.ask(f"SELECT key FROM artifacts WHERE step = 'files' AND current AND dataset = {literal(dataset)}")
    shown = [row for row in rows if row["group_name"] in groups]
    pictures = thumbnails(scope.home, files[0]["key"] if files else None, (row["sample_id"] for row in shown))
    if not pictures:
        return

    def paint(axes: "Axes") -> None:
        from PIL import Image

        for row in shown:
            address = pictures.get(row["sample_id"])
            if address is not None:
                image = Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2])))
                left, top = int(row["place"]) - 1, groups.index(row["group_name"])
                axes.imshow(image, extent=(left, left + 1 - _GAP, top + 1 - _GAP, top), interpolation="bilinear")
        axes.set_xlim(0, _MOST_IMAGES)
        axes.set_ylim(len(groups), 0)
        axes.set_aspect("equal")
        axes.set_yticks([top + 0.5 for top in range(len(groups))], list(map(shortened, groups)))
        axes.set_xticks([left + 0.5 for left in range(_MOST_IMAGES)], [str(n + 1) for n in range(_MOST_IMAGES)])
        axes.set_xlabel("order in which they were chosen")
        axes.grid(visible=False)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)

    words = (
        f"The first {_MOST_IMAGES} references of {len(groups)} groups of {dataset}, chosen with {backbone}: "
        + "; ".join(f"{group}: {', '.join(_ids(shown, group))}" for group in groups)
    )
    yield draw(
        f"references-{slugged(dataset, backbone)}",
        f"References of each group, {dataset} × {backbone}",
        words,
        (7.2, 0.6 + 0.7 * len(groups)),
        paint,
    )


def _ids(rows: list[Record], group: str) -> list[str]:
    return [str(row["sample_id"]) for row in rows if row["group_name"] == group]

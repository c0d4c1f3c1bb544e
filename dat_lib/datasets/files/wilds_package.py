"""The WILDS package, imported without its side effects."""

import importlib
import sys
from typing import Any

from dat_lib.datasets.registry import Archive


def wilds_class(module: str, name: str) -> Any:
    """Return a dataset class of WILDS; importing it takes torch along."""
    from dat_lib.backbones.torchvision_import import import_torchvision

    # WILDS imports `outdated`, which asks the network for newer versions; None makes that import fail quietly.
    sys.modules.setdefault("outdated", None)  # type: ignore[arg-type]
    import_torchvision()
    return getattr(importlib.import_module(f"wilds.datasets.{module}"), name)


def wilds_archive(module: str, name: str, folder: str) -> Archive:
    """Return where WILDS offers the archive of `folder`, which is named as "celebA_v1.0" is."""
    chosen = wilds_class(module, name)
    versions = chosen.__new__(chosen).versions_dict
    return Archive(versions[folder.rpartition("_v")[2]]["download_url"], f"{folder}.tar.gz")

"""Versions of libraries are told without importing them."""

import subprocess
import sys


def test_versions_come_without_an_import_and_without_the_build() -> None:
    code = (
        "import sys; from dat_lib.backbones.library_versions import RUNTIME, versions; print(versions(*RUNTIME)); "
        "assert not {'torch', 'torchvision', 'PIL'} & set(sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    import PIL
    import torch

    assert told.split(", ")[0] == f"torch {torch.__version__.partition('+')[0]}"
    assert told.split(", ")[2] == f"pillow {PIL.__version__}"

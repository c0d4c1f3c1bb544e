"""Importing torchvision where its compiled part does not fit torch.

Beside a CPU-only torch, a torchvision built for CUDA fails on import because it registers shape rules for operators
that its library, which cannot be loaded, should have declared. Declaring them first is enough: transforms and models
work then; `torchvision.ops.nms` and `torchvision.io` do not, and nothing here uses them.
"""

import importlib
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

_OPERATORS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)
_COMPILER_FOLDER = "TORCHINDUCTOR_CACHE_DIR"
# A torch library lives as long as its object does.
_declared: list[Any] = []


def import_torchvision() -> ModuleType:
    """Return torchvision, declaring its missing operators only when the plain import fails for want of them.

    Call it before importing open_clip, transformers or wilds, which import torchvision themselves.
    """
    with _no_compiler_folder():
        return _imported()


@contextmanager
def _no_compiler_folder() -> Iterator[None]:
    """Keep torch's compiler, which torchvision imports and nothing here uses, from making its folder on import.

    It makes the folder that the variable names, and one that is there need not be made.
    """
    if _COMPILER_FOLDER in os.environ:
        yield
        return
    os.environ[_COMPILER_FOLDER] = tempfile.gettempdir()
    try:
        yield
    finally:
        os.environ.pop(_COMPILER_FOLDER, None)


def _imported() -> ModuleType:
    try:
        return importlib.import_module("torchvision")
    except RuntimeError as error:
        if "torchvision::nms does not exist" not in str(error):
            raise
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]
    if not _declared:
        import torch

        library: Any = torch.library.Library("torchvision", "DEF")  # type: ignore[no-untyped-call]
        for operator in _OPERATORS:
            library.define(operator)
        _declared.append(library)
    return importlib.import_module("torchvision")

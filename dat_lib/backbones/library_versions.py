"""Versions of the libraries that decide a vector besides the model, found without importing them."""

from functools import lru_cache
from importlib.metadata import version

RUNTIME = ("torch", "torchvision", "pillow")
"""What computes, resizes and decodes for every model."""


@lru_cache(maxsize=32)
def versions(*libraries: str) -> str:
    """Return "torch 2.13.0, pillow 13.0.0". The build, such as "+cpu", is left away: a device decides no key."""
    return ", ".join(f"{library} {version(library).partition('+')[0]}" for library in libraries)

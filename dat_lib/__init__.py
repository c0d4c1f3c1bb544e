"""Density-Aware Translation and the methods it is compared with: arrays in, arrays out.

Names are imported when first used (`__init__.pyi` lists them), so that importing the package costs nothing.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

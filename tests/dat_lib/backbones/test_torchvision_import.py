"""Each case in a process of its own: an import can be tried only once."""

import os
import subprocess
import sys
from pathlib import Path


def python(code: str, **variables: str) -> str:
    inherited = {name: value for name, value in os.environ.items() if name != "TORCHINDUCTOR_CACHE_DIR"}
    environment = {**inherited, **variables}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_torchvision_imports_and_transforms_work_whatever_build_is_installed() -> None:
    out = python(
        "from dat_lib.backbones.torchvision_import import import_torchvision\n"
        "import_torchvision()\n"
        "import torch, torchvision.transforms as transforms\n"
        "print(tuple(transforms.Resize(8)(torch.zeros(3, 16, 16)).shape))\n"
    )
    assert out.strip() == "(3, 8, 8)"


def test_open_clip_imports_after_it() -> None:
    out = python(
        "from dat_lib.backbones.torchvision_import import import_torchvision\n"
        "import_torchvision()\n"
        "import open_clip\n"
        "print('ViT-B-32' in open_clip.list_models())\n"
    )
    assert out.strip() == "True"


def test_nothing_is_declared_when_the_plain_import_works() -> None:
    out = python(
        "import sys, types\n"
        "sys.modules['torchvision'] = types.ModuleType('torchvision')\n"
        "from dat_lib.backbones import torchvision_import\n"
        "torchvision_import.import_torchvision()\n"
        "print(torchvision_import._declared, 'torch' in sys.modules)\n"
    )
    assert out.strip() == "[] False"


def test_another_failure_is_not_hidden() -> None:
    out = python(
        "import importlib\n"
        "from dat_lib.backbones import torchvision_import\n"
        "def fail(name): raise RuntimeError('something else')\n"
        "torchvision_import.importlib = type('stub', (), {'import_module': staticmethod(fail)})\n"
        "try:\n"
        "    torchvision_import.import_torchvision()\n"
        "except RuntimeError as error:\n"
        "    print(error)\n"
    )
    assert out.strip() == "something else"


def test_no_folder_is_made_for_a_compiler_that_nobody_uses(tmp_path: Path) -> None:
    out = python(
        "from dat_lib.backbones.torchvision_import import import_torchvision\n"
        "import_torchvision()\n"
        "import os, sys\n"
        "print('torch._dynamo' in sys.modules, os.environ.get('TORCHINDUCTOR_CACHE_DIR'))\n",
        TMPDIR=str(tmp_path),
    )
    assert out.strip() == "True None"
    assert not list(tmp_path.iterdir())

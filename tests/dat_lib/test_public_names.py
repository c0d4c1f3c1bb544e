import subprocess
import sys

import dat_lib


def test_every_public_name_can_be_imported():
    for name in dat_lib.__all__:
        assert getattr(dat_lib, name).__name__ == name


def test_the_names_that_others_rely_on_are_there():
    assert {"DAT", "DATStar", "slof", "knn_distance", "dao", "herd", "group_metrics"} <= set(dat_lib.__all__)


def test_importing_the_estimator_and_the_metrics_imports_nothing_heavy():
    heavy = ("torch", "sklearn", "scipy", "pandas")
    code = (
        "import sys; from dat_lib import DAT, slof, herd, group_metrics, simulate, bootstrap_metrics, sweep; "
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"

from pathlib import Path

import pytest

from data_catalog.errors import UserError
from data_catalog.planning.code_version import CodeVersions

FILES = {
    "tasks/__init__.py": "",
    "tasks/step.py": "from dat_lib.density import slof\n\ndef compute(x):\n    return slof(x)\n",
    "dat_lib/__init__.py": "import lazy_loader\n__getattr__ = lazy_loader.attach_stub(__name__, __file__)\n",
    "dat_lib/__init__.pyi": "from .density import slof as slof\nfrom .other import other as other\n",
    "dat_lib/density.py": (
        '"""Densities."""\n\nfrom typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    import dat_lib.types_only\n\n'
        'def slof(x):\n    """Double."""\n    from . import helper\n    return helper.twice(x)  # why\n'
    ),
    "dat_lib/helper.py": "def twice(x):\n    return 2 * x\n",
    "dat_lib/other.py": "def other(x):\n    return x\n",
    "dat_lib/types_only.py": "X = int\n",
    "plugin/__init__.py": "",
    "plugin/method.py": "from dat_lib import slof\nfrom plugin.inner import scale\n",
    "plugin/inner.py": "def scale(x):\n    return x\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def closure(project: Path, *roots: str) -> dict[str, str]:
    return CodeVersions((project,)).closure(roots)


def edit(project: Path, name: str, old: str, new: str) -> None:
    path = project / name
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_a_step_reaches_what_it_imports_at_any_depth_and_nothing_else(project: Path) -> None:
    reached = closure(project, "tasks.step")
    assert set(reached) == {"tasks", "tasks.step", "dat_lib", "dat_lib.density", "dat_lib.helper"}


def test_a_lazily_exported_name_leads_to_the_module_that_defines_it(project: Path) -> None:
    reached = closure(project, "plugin.method")
    assert {"plugin.inner", "dat_lib.density", "dat_lib.helper"} <= set(reached)
    assert "dat_lib.other" not in reached


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("dat_lib/density.py", "# why", "# because"),
        ("dat_lib/density.py", '"""Double."""', '"""Twice as much,\n\n    in other words."""'),
        ("dat_lib/density.py", '"""Densities."""\n', ""),
        ("dat_lib/helper.py", "return 2 * x", "return (2\n            *   x)"),
        ("dat_lib/types_only.py", "int", "float"),
        ("dat_lib/other.py", "return x", "return -x"),
        ("dat_lib/__init__.pyi", "from .other import other as other\n", ""),
    ],
)
def test_comments_docstrings_formatting_and_unreached_code_do_not_count(project, name, old, new) -> None:
    before = closure(project, "tasks.step")
    edit(project, name, old, new)
    assert closure(project, "tasks.step") == before


@pytest.mark.parametrize(
    ("name", "old", "new", "changed"),
    [
        ("dat_lib/helper.py", "2 * x", "3 * x", {"dat_lib.helper"}),
        ("dat_lib/density.py", "helper.twice(x)", "helper.twice(x + 0)", {"dat_lib.density"}),
        ("dat_lib/helper.py", "def twice(x)", "def twice(x=1)", {"dat_lib.helper"}),
    ],
)
def test_an_edited_helper_counts(project, name, old, new, changed) -> None:
    before = closure(project, "tasks.step")
    edit(project, name, old, new)
    after = closure(project, "tasks.step")
    assert {module for module in before if before[module] != after[module]} == changed


def move(project: Path, old: str, new: str) -> None:
    """Move a module and mend every import of it, as an editor does; packages on the way are made."""
    source, target = (project / f"{name.replace('.', '/')}.py" for name in (old, new))
    target.parent.mkdir(parents=True, exist_ok=True)
    (target.parent / "__init__.py").touch()
    (package, name), (new_package, new_name) = old.rsplit(".", 1), new.rsplit(".", 1)
    target.write_text(source.read_text().replace("from . import", f"from {package} import"))
    source.unlink()
    for path in [*project.rglob("*.py"), *project.rglob("*.pyi")]:
        text = path.read_text()
        text = text.replace(f"from {old} import", f"from {new} import")
        text = text.replace(f"from .{name} import", f"from .{new.removeprefix(package + '.')} import")
        text = text.replace(f"from . import {name}", f"from {new_package} import {new_name} as {name}")
        path.write_text(text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("dat_lib.density", "dat_lib.density_of_groups"),
        ("dat_lib.density", "dat_lib.neighbours.density"),
        ("dat_lib.helper", "dat_lib.inner.arithmetic"),
        ("plugin.inner", "plugin.scaling.factors"),
    ],
)
@pytest.mark.parametrize("root", ["tasks.step", "plugin.method"])
def test_moving_or_renaming_a_module_changes_no_version(project: Path, root: str, old: str, new: str) -> None:
    before = CodeVersions((project,)).version([root])
    move(project, old, new)
    reached = closure(project, root)
    assert (new in reached) or (root == "tasks.step" and old.startswith("plugin"))
    assert CodeVersions((project,)).version([root]) == before
    edit(project, f"{new.replace('.', '/')}.py", "return ", "return 0 + ")
    assert (CodeVersions((project,)).version([root]) == before) == (new not in reached)


def test_moving_a_step_itself_changes_no_version(project: Path) -> None:
    before = CodeVersions((project,)).version(["tasks.step"])
    move(project, "tasks.step", "tasks.steps.first")
    assert CodeVersions((project,)).version(["tasks.steps.first"]) == before


def test_an_import_that_leads_elsewhere_changes_the_version_though_the_same_modules_are_reached(project: Path) -> None:
    (project / "dat_lib/thrice.py").write_text("def twice(x):\n    return 3 * x\n")
    (project / "tasks/step.py").write_text(
        "from dat_lib.helper import twice\nfrom dat_lib.thrice import twice as more\n\nBOTH = twice, more\n"
    )
    before, reached = CodeVersions((project,)).version(["tasks.step"]), closure(project, "tasks.step")
    (project / "tasks/step.py").write_text(
        "from dat_lib.thrice import twice\nfrom dat_lib.helper import twice as more\n\nBOTH = twice, more\n"
    )
    assert closure(project, "tasks.step") == reached
    assert CodeVersions((project,)).version(["tasks.step"]) != before


def test_which_of_the_modules_reached_is_the_step_counts(project: Path) -> None:
    versions = CodeVersions((project,))
    roots = ["plugin.method", "plugin.inner"]
    assert versions.closure(roots) == versions.closure(roots[:1])
    assert versions.version(roots) != versions.version(roots[::-1])


def test_the_order_of_imports_does_not_count(project: Path) -> None:
    before = CodeVersions((project,)).version(["plugin.method"])
    (project / "plugin/method.py").write_text("from plugin.inner import scale\nfrom dat_lib import slof\n")
    assert CodeVersions((project,)).version(["plugin.method"]) == before


def test_a_dynamically_chosen_module_counts_when_it_is_a_root(project: Path) -> None:
    without, with_method = closure(project, "tasks.step"), closure(project, "tasks.step", "plugin.method")
    assert set(with_method) - set(without) == {"plugin", "plugin.method", "plugin.inner"}
    edit(project, "plugin/inner.py", "return x", "return 2 * x")
    assert closure(project, "tasks.step", "plugin.method") != with_method


def test_a_root_without_source_is_an_error(project: Path) -> None:
    with pytest.raises(UserError, match=r"tasks\.nowhere"):
        closure(project, "tasks.nowhere")


def test_a_syntax_error_names_file_and_line(project: Path) -> None:
    edit(project, "dat_lib/helper.py", "return", "retrun retrun")
    with pytest.raises(UserError, match=r"helper\.py, line 2"):
        closure(project, "tasks.step")


def test_the_real_project_is_found_where_python_finds_it() -> None:
    assert "data_catalog.errors" in CodeVersions().closure(["data_catalog.store.artifacts"])

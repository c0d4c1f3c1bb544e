from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from data_catalog.errors import UserError
from data_catalog.home import Home
from data_catalog.planning.cell import Cell
from data_catalog.planning.code_version import CodeVersions
from data_catalog.planning.planner import Decision, Planner, in_order
from data_catalog.store.artifacts import Store
from data_catalog.store.content import content_digest
from data_catalog.store.manifest import Manifest, Parent, parse_manifest
from data_catalog.store.runs import now


@pytest.fixture
def code(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    for name in ("steps/__init__", "steps/first", "steps/second"):
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("VALUE = 1\n")
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Store:
    home = Home(tmp_path / "home")
    home.prepare()
    return Store(home)


def cells(k: int = 10, weights: str = "w1") -> list[Cell]:
    first = Cell("first", {"dataset": "d"}, ("steps.first",), {"k": k}, {"weights": weights})
    return [first, Cell("second", {"dataset": "d"}, ("steps.second",), {"seed": 0}, parents={"numbers": first.name})]


def compute(store: Store, code: Path, wanted: list[Cell], value: int = 1) -> list[str]:
    """Bring cells up to date by hand; the content of each is `value`. Returns the names computed."""
    planner = Planner(store, CodeVersions((code,)))
    manifests: dict[str, Manifest] = {}
    ran = []
    for cell in in_order(wanted):
        parents = {role: manifests[name] for role, name in cell.parents.items()}
        decision = planner.decide(cell, parents)
        manifest = decision.manifest
        if manifest is None:
            assert decision.key is not None
            ran.append(cell.name)
            table = pa.table({"value": [value]})
            with store.computing(decision.key) as staging:
                store.set_aside(cell.step, decision.key)
                store.keep_shard(staging, 0, table)
                manifest = store.commit(
                    Manifest(
                        key=decision.key,
                        step=cell.step,
                        cell=cell.name,
                        address=cell.address,
                        code=planner.code.closure(cell.modules),
                        params=cell.canonical_params,
                        facts=cell.canonical_facts,
                        parents={role: Parent(p.key, p.content) for role, p in parents.items()},
                        content=content_digest(table),
                        rows=1,
                        files=store.add_shards(cell.step, staging),
                        created=now(),
                    )
                )
        manifests[cell.name] = manifest
    return ran


def plan(store: Store, code: Path, wanted: list[Cell]) -> dict[str, Decision]:
    return {d.cell.step: d for d in Planner(store, CodeVersions((code,))).plan(wanted)}


def test_cells_that_never_existed_are_new_and_staged_behind_their_inputs(store, code) -> None:
    decisions = plan(store, code, cells())
    assert (decisions["first"].action, decisions["first"].reason) == ("run", "new")
    assert (decisions["second"].action, decisions["second"].reason) == ("run", "new (after numbers)")
    assert decisions["second"].key is None


def test_what_was_computed_is_up_to_date(store, code) -> None:
    assert compute(store, code, cells()) == ["first/d", "second/d"]
    assert {d.action for d in plan(store, code, cells()).values()} == {"up to date"}
    assert compute(store, code, cells()) == []


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        (cells(k=20), "params: k 10 -> 20"),
        (cells(weights="w2"), "facts: weights"),
        (cells(k=20, weights="w2"), "params: k 10 -> 20; facts: weights"),
    ],
)
def test_changed_settings_and_facts_are_named(store, code, wanted, reason) -> None:
    compute(store, code, cells())
    decisions = plan(store, code, wanted)
    assert decisions["first"].reason == reason
    assert (decisions["second"].action, decisions["second"].reason) == ("wait", "input: numbers")


def test_what_is_asked_for_is_compared_with_the_newest_artifact(store, code) -> None:
    for k in (10, 20):
        compute(store, code, cells(k=k))
    assert plan(store, code, cells(k=30))["first"].reason == "params: k 20 -> 30"


def test_changed_code_is_named(store, code) -> None:
    compute(store, code, cells())
    (code / "steps/second.py").write_text("VALUE = 2\n")
    decisions = plan(store, code, cells())
    assert decisions["first"].action == "up to date"
    assert (decisions["second"].action, decisions["second"].reason) == ("run", "code: steps.second")


def test_equal_output_stops_the_wave(store, code) -> None:
    compute(store, code, cells())
    assert compute(store, code, cells(k=20), value=1) == ["first/d"]


def test_other_output_goes_on_and_names_the_input(store, code) -> None:
    compute(store, code, cells())
    wanted = cells(k=20)
    compute(store, code, wanted[:1], value=2)
    assert plan(store, code, wanted)["second"].reason == "input: numbers"


def test_going_back_to_former_settings_needs_nothing(store, code) -> None:
    compute(store, code, cells())
    compute(store, code, cells(k=20), value=2)
    assert compute(store, code, cells()) == []


def test_a_lost_file_is_missing_and_a_cut_one_too(store, code) -> None:
    compute(store, code, cells())
    for path in (store.home.objects / "second").iterdir():
        path.unlink()
    assert plan(store, code, cells())["second"].reason == "missing"
    compute(store, code, cells())
    for path in (store.home.objects / "second").iterdir():
        path.write_bytes(path.read_bytes()[:-1])
    assert plan(store, code, cells())["second"].reason == "missing"


def test_a_garbled_manifest_and_a_quarantined_one_are_corrupt(store, code) -> None:
    compute(store, code, cells())
    (path,) = (store.home.manifests / "second").iterdir()
    good = path.read_text()
    path.write_text(good.replace('"rows": 1', '"rows": 2'))
    assert plan(store, code, cells())["second"].reason == "corrupt"
    path.write_text(good)
    store.set_aside("second", path.stem)
    assert plan(store, code, cells())["second"].reason == "corrupt"
    compute(store, code, cells())
    assert plan(store, code, cells())["second"].action == "up to date"


def test_forced_cells_run_although_nothing_changed(store, code) -> None:
    compute(store, code, cells())
    planner = Planner(store, CodeVersions((code,)), forced=lambda cell: cell.step == "first")
    first, second = planner.plan(cells())
    assert (first.action, first.reason) == ("run", "forced")
    assert second.action == "wait"


def test_a_newer_manifest_format_is_refused_with_advice(store, code) -> None:
    compute(store, code, cells())
    (path,) = (store.home.manifests / "first").iterdir()
    path.write_text(replace(parse_manifest(path.read_bytes()), format=99).to_json())
    with pytest.raises(UserError, match="format 99 is newer"):
        plan(store, code, cells())


@pytest.mark.parametrize(
    "changed",
    [
        {"step": "second"},
        {"params": {"k": 20}},
        {"params": {"k": 10, "more": None}},
        {"facts": {"weights": "w2"}},
        {"facts": {}},
    ],
    ids=str,
)
def test_a_key_depends_on_step_settings_and_facts(changed: dict[str, object]) -> None:
    cell = cells()[0]
    assert replace(cell, **changed).key("code", {}) != cell.key("code", {})


def test_a_key_depends_on_code_and_on_the_role_and_content_of_inputs_and_on_nothing_else() -> None:
    cell, inputs = cells()[1], {"numbers": "a", "words": "b"}
    key = cell.key("code", inputs)
    others = [("other", inputs), ("code", {"numbers": "b", "words": "a"}), ("code", {"numbers": "a"}), ("code", {})]
    assert len({key, *(cell.key(*other) for other in others)}) == 5
    elsewhere = replace(cell, address={"dataset": "e"}, modules=("x",), parents={}, resources={"device": "cuda"})
    assert elsewhere.key("code", dict(reversed(inputs.items()))) == key


def test_order_puts_parents_first_and_names_faults() -> None:
    a = Cell("a", {}, (), parents={"x": "b"})
    b = Cell("b", {}, ())
    assert [cell.name for cell in in_order([a, b])] == ["b", "a"]
    with pytest.raises(UserError, match="a needs b, which is not among"):
        in_order([a])
    with pytest.raises(UserError, match="in a circle: a -> b -> a"):
        in_order([a, Cell("b", {}, (), parents={"x": "a"})])
    with pytest.raises(UserError, match="two different cells are both called b"):
        in_order([b, Cell("b", {}, (), params={"k": 1})])


def test_a_chain_of_thousands_does_not_exhaust_the_stack() -> None:
    chain = [Cell("s", {"dataset": str(n)}, (), parents={"x": f"s/{n - 1}"} if n else {}) for n in range(5000)]
    assert len(in_order(reversed(chain))) == 5000

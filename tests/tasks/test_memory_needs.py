"""A dataset that scoring has no memory for is refused before anything is computed."""

from collections.abc import Callable
from pathlib import Path

import pytest

from data_catalog.errors import UserError
from data_catalog.home import Home
from data_catalog.machine_memory import machine_memory
from data_catalog.specs.prompts import PromptSet
from tasks.graph import graph, memory_needs
from tasks.tables import blocks
from tests.conftest import Ran


def words(classes: int, attributes: int = 2) -> PromptSet:
    return PromptSet(
        classes=[f"c{y}" for y in range(classes)],
        attributes=[f"a{a}" for a in range(attributes)],
        prompts={"class": "a {class}"},
    )


def machine_of(monkeypatch: pytest.MonkeyPatch, gigabytes: float) -> None:
    monkeypatch.setattr(memory_needs, "machine_memory", lambda: int(gigabytes * 2**30))


def test_the_estimate_is_of_the_blocks_and_resamples_there_are() -> None:
    assert (memory_needs.BLOCK_ROWS, memory_needs.RESAMPLES) == (blocks.BLOCK_ROWS, graph.RESAMPLES)


def test_the_machine_has_some_memory() -> None:
    assert 2**28 < machine_memory() < 2**50


def test_two_thousand_classes_fit_four_gigabytes_and_a_million_fit_no_machine_of_today(monkeypatch) -> None:
    machine_of(monkeypatch, 4)
    memory_needs.check_memory(words(2000), "class_attribute", where="here", tested=8000)
    machine_of(monkeypatch, 256)
    with pytest.raises(
        UserError, match=r"^here: 1,000,000 classes x 2 attributes would take about 3\d\d\.\d GB"
    ) as told:
        memory_needs.check_memory(words(1_000_000), "class_attribute", where="here")
    assert "this machine has 256.0 GB" in str(told.value)


def test_more_images_at_a_time_take_more_and_groups_by_attribute_take_less(monkeypatch) -> None:
    machine_of(monkeypatch, 4)
    many = words(5000)
    memory_needs.check_memory(many, "class_attribute", where="here", tested=1)
    memory_needs.check_memory(words(60_000), "attribute", where="here", tested=1)
    with pytest.raises(UserError, match=r"this machine has 4\.0 GB"):
        memory_needs.check_memory(many, "class_attribute", where="here", tested=30_000)
    with pytest.raises(UserError, match=r"this machine has 4\.0 GB"):
        memory_needs.check_memory(words(60_000), "class_attribute", where="here", tested=1)


def test_an_import_and_a_run_are_refused_with_the_memory_they_would_take(
    dat: Callable[..., Ran], embeddings_folder: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported = ("import", "embeddings", str(embeddings_folder), "--dataset", "birds", "--backbone", "my-clip")
    machine_of(monkeypatch, 0.0001)
    refused = dat(*imported)
    assert refused.code == 2
    assert "prompts.toml: 2 classes x 2 attributes would take about 0.0 GB of memory to score" in refused.err
    assert not (home.specs / "datasets").exists()
    monkeypatch.undo()
    monkeypatch.setenv("DAT_HOME", str(home.root))
    assert dat(*imported).code == 0
    machine_of(monkeypatch, 0.0001)
    for command in ("run", "plan"):
        refused = dat(command, "--dataset", "birds", "--backbone", "my-clip")
        assert refused.code == 2
        assert "would take about 0.0 GB of memory to score" in refused.err

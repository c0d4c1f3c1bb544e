"""The thin slice from end to end: imported embeddings, zero-shot, metrics, SQL."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from dat_lib.metrics import group_metrics
from dat_lib.toyworld.simulation import simulate


@pytest.fixture
def imported(dat, embeddings_folder):
    ran = dat("import", "embeddings", str(embeddings_folder), "--dataset", "birds", "--backbone", "my-clip")
    assert ran.code == 0, ran.err
    return ran


def sql(dat, question: str) -> list[dict]:
    ran = dat("sql", question, "--format", "json")
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def test_zero_shot_on_imported_embeddings_is_what_a_few_lines_of_numpy_give(dat, imported) -> None:
    assert dat("run", "--dataset", "birds", "--backbone", "my-clip", "--method", "zero_shot").code == 0
    world = simulate(seed=3, dim=16, train=400, val=40, test=120)
    test = world.split == "test"
    images = world.embeddings[test] / np.linalg.norm(world.embeddings[test], axis=1, keepdims=True)
    text = world.text["class"] / np.linalg.norm(world.text["class"], axis=1, keepdims=True)
    predicted = np.argmax(images @ text.T, axis=1)
    expected = group_metrics(predicted, world.labels[test], world.attributes[test])
    (row,) = sql(dat, "SELECT * FROM results")
    assert (row["dataset"], row["backbone"], row["method"], row["variant"]) == ("birds", "my-clip", "zero_shot", "")
    assert row["wg"] == pytest.approx(expected.worst_group)
    assert row["avg"] == pytest.approx(expected.average)
    assert row["gap"] == pytest.approx(expected.gap)
    assert row["samples"] == test.sum()
    assert row["wg_low"] <= row["wg"] <= row["wg_high"]
    assert row["avg_low"] <= row["avg"] <= row["avg_high"]
    found = sql(dat, "SELECT sample_id, prediction FROM predictions")
    ids = world.sample_ids[test].tolist()
    assert {r["sample_id"]: r["prediction"] for r in found} == dict(zip(ids, predicted.tolist(), strict=True))
    groups = {(g["label"], g["attribute"]): g["accuracy"] for g in sql(dat, "SELECT * FROM group_accuracy")}
    assert groups == {key: pytest.approx(group.accuracy) for key, group in expected.per_group.items()}


def test_a_second_run_executes_nothing(dat, imported) -> None:
    request = ("run", "--dataset", "birds", "--backbone", "my-clip", "--method", "zero_shot", "--json")
    assert json.loads(dat(*request).out)["outcomes"] == {"up to date": 3, "computed": 2}
    assert json.loads(dat(*request).out)["outcomes"] == {"up to date": 5}
    assert dat("plan", "--dataset", "birds", "--backbone", "my-clip", "--method", "zero_shot", "--check").code == 0


def test_a_second_backbone_computes_its_own_cells_only(dat, imported, embeddings_folder) -> None:
    dat("run", "--dataset", "birds", "--backbone", "my-clip", "--method", "zero_shot")
    path = embeddings_folder / "images.parquet"
    table = pq.read_table(path)
    vectors = [vector[1:] + vector[:1] for vector in table.column("embedding").to_pylist()]
    pq.write_table(table.set_column(4, "embedding", [vectors]), path)
    add = ("import", "embeddings", str(embeddings_folder), "--dataset", "birds", "--backbone", "other-clip")
    assert dat(*add).code == 0
    both = ("--dataset", "birds", "--backbone", "my-clip", "--backbone", "other-clip", "--method", "zero_shot")
    plan = json.loads(dat("plan", *both, "--json").out)
    assert {p["backbone"] for p in plan if p["action"] != "up to date"} == {"other-clip"}
    dat("run", *both)
    computed = sql(dat, "SELECT cell FROM decisions WHERE outcome = 'computed' AND run_id = 'r000004'")
    assert {r["cell"] for r in computed} == {
        "predictions/birds/other-clip/zero_shot",
        "metrics/birds/other-clip/zero_shot",
    }


def test_equal_embeddings_by_another_name_are_computed_once_and_still_have_results_of_their_own(
    dat, imported, embeddings_folder
) -> None:
    dat("run", "--dataset", "birds", "--backbone", "my-clip", "--method", "zero_shot")
    dat("import", "embeddings", str(embeddings_folder), "--dataset", "birds", "--backbone", "same-clip")
    ran = dat("run", "--dataset", "birds", "--backbone", "same-clip", "--method", "zero_shot", "--json")
    assert json.loads(ran.out)["outcomes"] == {"up to date": 5}
    rows = sql(dat, "SELECT backbone, wg FROM results ORDER BY backbone")
    assert [row["backbone"] for row in rows] == ["my-clip", "same-clip"]
    assert rows[0]["wg"] == rows[1]["wg"]
    assert len(sql(dat, "SELECT * FROM predictions")) == 2 * 120


def test_changed_embeddings_are_noticed_when_they_are_imported_again(dat, imported, embeddings_folder) -> None:
    request = ("--dataset", "birds", "--backbone", "my-clip", "--method", "zero_shot")
    dat("run", *request)
    path = embeddings_folder / "texts.parquet"
    table = pq.read_table(path)
    pq.write_table(table.take(list(reversed(range(table.num_rows)))), path)
    again = ("import", "embeddings", str(embeddings_folder), "--dataset", "birds", "--backbone", "my-clip")
    assert dat(*again).code == 0
    reasons = sql(dat, "SELECT step, reason, outcome FROM decisions WHERE run_id = 'r000003'")
    assert {r["step"]: r["reason"] for r in reasons}["text_embeddings"] == "facts: texts_sha256"
    # The vectors of the prompts are the same, so nothing downstream has to run.
    assert dat("plan", *request, "--check").code == 0


def test_all_methods_run_that_the_prompts_allow_and_the_others_are_named(dat, imported) -> None:
    ran = dat("run", "--dataset", "birds", "--backbone", "my-clip")
    assert ran.code == 0, ran.err
    assert "left out on birds: roboshot, the prompt set has no reject, accept" in ran.err
    methods = {r["method"] for r in sql(dat, "SELECT method FROM results")}
    assert {"zero_shot", "group_prompt", "tie", "tie_star", "ideal_words"} <= methods
    assert "roboshot" not in methods


def test_settings_make_variants_beside_the_main_result(dat, imported) -> None:
    request = ("run", "--dataset", "birds", "--backbone", "my-clip", "--method", "perception_clip")
    assert dat(*request).code == 0
    assert dat(*request, "--set", "temperature=3").code == 0
    assert {r["variant"] for r in sql(dat, "SELECT variant FROM results")} == {"", "temperature=3"}


def test_a_forced_run_recomputes_and_overwrites_nothing(dat, imported, home) -> None:
    request = ("run", "--dataset", "birds", "--backbone", "my-clip", "--method", "zero_shot")
    dat(*request)
    before = {path: path.stat().st_mtime_ns for path in home.objects.rglob("*.parquet")}
    ran = dat(*request, "--force", "--json")
    assert json.loads(ran.out)["outcomes"] == {"reproduced": 5}
    assert {path: path.stat().st_mtime_ns for path in home.objects.rglob("*.parquet")} == before


def test_why_names_the_reason_and_the_lineage(dat, imported) -> None:
    dat("run", "--dataset", "birds", "--backbone", "my-clip", "--method", "zero_shot")
    ran = dat("why", "metrics/birds/my-clip/zero_shot")
    assert "computed" in ran.out
    assert "new" in ran.out
    assert "image_embeddings: image_embeddings/birds/my-clip" in ran.out
    record = json.loads(dat("why", "predictions/birds/my-clip/zero_shot", "--json").out)
    assert {link["role"] for link in record["lineage"]} == {"samples", "image_embeddings", "text_embeddings"}
    assert record["decisions"][0]["reason"] == "new"


def test_an_import_whose_folder_is_gone_still_serves_what_was_stored(dat, imported, embeddings_folder) -> None:
    embeddings_folder.rename(embeddings_folder.with_name("moved"))
    assert dat("run", "--dataset", "birds", "--backbone", "my-clip", "--method", "zero_shot").code == 0


def test_a_failed_cell_fails_alone_and_the_run_says_so(dat, imported, embeddings_folder, home) -> None:
    dat("run", "--dataset", "birds", "--backbone", "my-clip", "--method", "zero_shot")
    for path in (home.objects / "text_embeddings").iterdir():
        path.unlink()
    (embeddings_folder / "texts.parquet").unlink()
    ran = dat("run", "--dataset", "birds", "--backbone", "my-clip", "--method", "zero_shot", "--json")
    assert ran.code == 1
    failed = {f["cell"]: f for f in json.loads(ran.out)["failed"]}
    assert set(failed) == {
        "text_embeddings/birds/my-clip",
        "predictions/birds/my-clip/zero_shot",
        "metrics/birds/my-clip/zero_shot",
    }
    assert "there is no such file" in failed["text_embeddings/birds/my-clip"]["error"]
    assert failed["metrics/birds/my-clip/zero_shot"]["outcome"] == "blocked"

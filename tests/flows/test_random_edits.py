"""Random edits of a small dataset of images: an incremental run equals a fresh one and computes no more than stated."""

import pytest

from data_catalog.home import Home
from data_catalog.store.artifacts import Store
from data_catalog.store.content import content_digest
from tests.edited_images import ROWS, EditedImages, decided

SHARD, EDITS = 6, 5


def shards(home: Home) -> list[str]:
    """What each shard of the last run's embeddings rests on: the ids and digests of its rows."""
    store = Store(home)
    table = store.read(store.find("files", decided(home)["files "][0]))
    return [content_digest(table.slice(start, SHARD)) for start in range(0, ROWS, SHARD)]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_an_incremental_run_equals_a_fresh_one_and_embeds_just_the_shards_that_changed(
    dat, home, tmp_path, monkeypatch, seed
) -> None:
    monkeypatch.setattr("tasks.steps.image_embeddings.SHARD_ROWS", SHARD)
    monkeypatch.setenv("DAT_WORKERS", "0")
    from tasks.steps import image_embeddings as extraction

    extract, embedded = extraction.extract, []

    def counted(*arguments, **settings):
        for shard in extract(*arguments, **settings):
            embedded.append(shard.number)
            yield shard

    monkeypatch.setattr(extraction, "extract", counted)
    world, known, history = EditedImages(tmp_path, seed), set(), []
    for _ in range(EDITS + 1):
        embedded.clear()
        ran = dat(*world.request())
        assert ran.code == 0, (history, ran.err)
        now, again = shards(home), list(embedded)
        assert len(again) == len(set(now) - known), (history, "shards with an image that changed, and no others")
        known |= set(now)
        fresh = Home(tmp_path / f"fresh-{len(history)}")
        monkeypatch.setenv("DAT_HOME", str(fresh.root))
        assert dat(*world.request()).code == 0
        monkeypatch.setenv("DAT_HOME", str(home.root))
        assert decided(home) == decided(fresh), history
        history.append(world.edit())

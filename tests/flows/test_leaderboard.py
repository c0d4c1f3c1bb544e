from flows.cli.terminal.leaderboard import _worth_listing


def entry(rank: int, variant: str) -> dict:
    return {"rank": rank, "variant": variant}


def test_a_long_sweep_leaves_room_for_every_result_with_a_datasets_own_settings() -> None:
    ranked = [entry(rank, f"k={rank}") for rank in range(1, 101)] + [
        entry(101, ""),
        entry(102, "k=101"),
        entry(103, ""),
    ]
    shown = _worth_listing(ranked)
    assert [row["rank"] for row in shown] == [*range(1, 39), 101, 103]


def test_what_fits_is_shown_in_full() -> None:
    ranked = [entry(1, "k=5"), entry(2, ""), entry(3, "k=6")]
    assert _worth_listing(ranked) == ranked

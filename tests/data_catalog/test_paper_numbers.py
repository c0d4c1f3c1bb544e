"""The paper's numbers as transcribed: complete, exact as printed, and every known misprint marked."""

import csv
import re
from collections import Counter
from importlib.resources import files

import pytest

HEADER = "source,dataset,backbone,method,variant,wg,avg,gap,seconds,comparable,note"
KEY = ("source", "dataset", "backbone", "method", "variant")

# source -> (label in the LaTeX source, rows counted there by eye)
SOURCES = {
    "table:waterbirds": ("tab:waterbirds", 30),
    "table:celeba": ("tab:celeba", 30),
    "table:covid": ("tab:covid", 10),
    "table:fmow": ("tab:FMoW", 10),
    "figure:strength": ("ablationcomparison, panel (a)", 12),
    "figure:samples": ("ablationcomparison, panel (b)", 9),
    "figure:neighbours": ("ablationcomparison, panel (c)", 12),
    "table:align_altclip": ("tab:align_altclip", 20),
    "table:robust_waterbirds": ("robust", 12),
    "figure:aggregation": ("fig:aggregation", 6),
    "table:efficiency": ("tab:eff", 6),
    "table:density": ("tab:density_comp", 13),
    "table:global_normalisation": ("tab:global_normalisation", 21),
    "table:reference_quality": ("tab:reference_quality", 12),
    "table:robust_celeba_dat": ("tab:dat_prompt_robustness_celeb", 6),
    "table:robust_celeba_dat_star": ("tab:dat_star_prompt_robustness_celb", 6),
    "table:template": ("tab:template_ablation", 14),
    "table:wordnet": ("tab:wordnet_ablation", 9),
}
NAMES = {
    "dataset": {"waterbirds", "celeba", "covid", "fmow"},
    "backbone": {"clip-vit-b-32", "clip-vit-l-14", "clip-rn50", "align", "altclip", "biomedclip"},
    "method": {
        *("zero_shot", "zero_shot_centred", "zero_shot_whitened"),
        *("group_prompt", "group_prompt_centred", "group_prompt_whitened"),
        *("ideal_words", "orth_cali", "perception_clip", "roboshot", "tie", "tie_star", "dat", "dat_star"),
    },
}
WATERBIRDS_TEST_GROUPS = (642, 2255)
COVID_TEST_GROUPS = (23, 24, 29, 34, 58)  # 24 is 23 where the loader dropped the last image
COVID_TEST_SIZES = (144, 145)


@pytest.fixture(scope="module")
def rows():
    text = files("data_catalog").joinpath("paper", "paper.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines(), strict=True))


def key(row):
    return tuple(row[name] for name in KEY)


def is_share_of(printed, totals):
    """Whether an integer over one of the totals is `printed` percent, rounded or truncated as printed."""
    scale = 10 ** len(printed.partition(".")[2])
    value = round(float(printed) * scale)
    return any(
        100 * scale * count // total == value or (200 * scale * count + total) // (2 * total) == value
        for total in totals
        for count in range(total + 1)
    )


def test_the_columns_are_those_the_catalog_reads(rows):
    assert ",".join(rows[0]) == HEADER


def test_every_row_is_whole_and_every_number_parses(rows):
    for row in rows:
        assert None not in (*row, *row.values()), row  # a cell too many, or too few
        for column in ("wg", "avg", "gap"):
            assert row[column] == "" or re.fullmatch(r"\d{1,2}\.\d{1,2}", row[column]), row
        assert row["seconds"] == "" or re.fullmatch(r"\d+", row["seconds"]), row
        assert bool(row["wg"]) != bool(row["seconds"]), row
        assert row["comparable"] in ("true", "false"), row
        assert row["note"] == "" or (row["note"].endswith(".") and row["note"] == row["note"].strip()), row


def test_names_are_known_and_variants_parse(rows):
    for row in rows:
        for column, known in NAMES.items():
            assert row[column] in known, row
        for pair in row["variant"].split(", ") if row["variant"] else []:
            assert re.fullmatch(
                r"(strength|n|k|occurrence)=\d+|density=(slof|knn|dao)|lid=(mle|mom)|terms=(group|average)"
                r"|corruption=0(\.05|\.1|\.15)?|prompts=(robust|t1|t2|t[123]-o[123])",
                pair,
            ), row


def test_keys_are_unique(rows):
    assert [k for k, count in Counter(map(key, rows)).items() if count > 1] == []


def test_each_source_has_the_rows_counted_in_the_paper(rows):
    assert Counter(row["source"] for row in rows) == {source: count for source, (_, count) in SOURCES.items()}


def test_gaps_are_average_minus_worst_group_except_where_a_note_says_so(rows):
    full = [row for row in rows if row["wg"] and row["avg"] and row["gap"]]
    off = [r for r in full if abs(float(r["avg"]) - float(r["wg"]) - float(r["gap"])) > 0.011]
    assert list(map(key, off)) == [key(row) for row in full if "gap" in row["note"].lower()]
    assert len(off) == 14  # ten inconsistencies: DAT's ViT-L/14 cell in four tables, ZS in both template columns
    for row in off:
        assert f"is {float(row['avg']) - float(row['wg']):.2f} and {row['gap']} is printed" in row["note"], row


def test_the_misprinted_gap_is_marked_in_the_figure_that_repeats_it(rows):
    marked = [row for row in rows if "gap" in row["note"].lower() and not row["avg"]]
    assert [key(row)[:4] for row in marked] == [("figure:aggregation", "waterbirds", "clip-vit-l-14", "dat")]
    assert "6.24" in marked[0]["note"]


def test_worst_groups_on_waterbirds_are_shares_of_a_group_except_where_a_note_says_so(rows):
    waterbirds = [row for row in rows if row["dataset"] == "waterbirds" and row["wg"]]
    off = [key(row) for row in waterbirds if not is_share_of(row["wg"], WATERBIRDS_TEST_GROUPS)]
    assert off == [key(row) for row in waterbirds if "not an integer over 642 or 2255" in row["note"]]
    assert len(off) == 7


def test_covid_numbers_are_shares_of_the_test_set_except_where_a_note_says_so(rows):
    covid = [row for row in rows if row["dataset"] == "covid"]
    off_group = {row["method"] for row in covid if not is_share_of(row["wg"], COVID_TEST_GROUPS)}
    off_average = {row["method"] for row in covid if not is_share_of(row["avg"], COVID_TEST_SIZES)}
    assert off_group == {"perception_clip", "tie_star"}
    assert off_average == {"ideal_words", "perception_clip", "tie_star"}
    for row in covid:
        if row["method"] in off_group | off_average:
            assert "not an integer over" in row["note"], row
            assert row["comparable"] == "false", row


def test_fractions_in_notes_are_the_values_they_explain(rows):
    explained = 0
    for row in rows:
        values = {row["wg"], row["avg"], *re.findall(r"\d+\.\d\d", row["note"])}
        for count, total in re.findall(r"\b(\d+)/(\d{2,})\b", re.sub(r"ViT-[BL]/\d+", "", row["note"])):
            share = 100 * int(count) / int(total)
            assert {f"{share:.2f}", f"{int(share * 100) / 100:.2f}"} & values, row
            explained += 1
    assert explained > 20


def test_a_repeated_cell_repeats_its_numbers_except_where_a_note_says_so(rows):
    main = {key(row)[1:]: row for row in rows if row["source"] in list(SOURCES)[:4]}
    repeats = [r for r in rows if r["wg"] and key(r)[1:] in main and main[key(r)[1:]] is not r]
    assert len(repeats) > 20
    differing = {
        key(row) for row in repeats if any(row[c] and row[c] != main[key(row)[1:]][c] for c in ("wg", "avg", "gap"))
    }
    norm = ("table:global_normalisation", "waterbirds")
    assert differing == {
        ("table:robust_celeba_dat", "celeba", "clip-vit-l-14", "dat", ""),
        (*norm, "clip-vit-b-32", "group_prompt", ""),
        (*norm, "clip-vit-l-14", "group_prompt", ""),
        (*norm, "clip-rn50", "group_prompt", ""),
    }
    assert all("main table" in row["note"] for row in repeats if key(row) in differing)


def test_rows_that_rest_on_another_checkpoint_split_or_average_are_not_comparable(rows):
    for row in rows:
        two = row["backbone"] in ("clip-vit-b-32", "clip-vit-l-14") and row["dataset"] in (
            "waterbirds",
            "celeba",
        )
        expected_false = (
            # RoboShot's own checkpoints
            (two and row["method"] in ("group_prompt", "roboshot"))
            # Perception CLIP: Waterbirds and COVID-19 on the training split, OpenAI's ViT-L/14 on CelebA
            or (row["method"] == "perception_clip" and row["dataset"] in ("waterbirds", "covid"))
            or (row["method"], row["dataset"], row["backbone"]) == ("perception_clip", "celeba", "clip-vit-l-14")
            # averages weighted by training group sizes
            or (
                row["dataset"] == "waterbirds"
                and row["backbone"] in ("align", "altclip")
                and row["method"] not in ("dat", "dat_star")
            )
            # training split that holds the test images, or numbers that fit no test set
            or (row["dataset"] == "covid" and row["method"] in ("ideal_words", "tie", "tie_star", "dat", "dat_star"))
            # the cells of another method, copied
            or (row["source"], row["method"]) == ("table:global_normalisation", "group_prompt")
        )
        assert row["comparable"] == ("false" if expected_false else "true"), row
        assert row["note"] or not expected_false, row


@pytest.mark.parametrize(
    ("source", "backbone", "method", "printed"),
    [
        ("table:waterbirds", "clip-vit-b-32", "zero_shot", "41.37 68.48 27.11"),
        ("table:waterbirds", "clip-vit-l-14", "tie", "78.82 84.12 5.30"),
        ("table:waterbirds", "clip-rn50", "ideal_words", "39.90 79.48 40.39"),
        ("table:waterbirds", "clip-vit-b-32", "dat", "75.08 80.36 5.28"),
        ("table:waterbirds", "clip-vit-l-14", "dat", "83.33 89.57 6.42"),
        ("table:waterbirds", "clip-rn50", "dat", "75.08 83.83 8.75"),
        ("table:waterbirds", "clip-rn50", "dat_star", "63.71 82.65 18.94"),
        ("table:celeba", "clip-vit-b-32", "dat", "78.53 87.09 8.56"),
        ("table:celeba", "clip-vit-l-14", "dat", "84.94 86.54 1.19"),
        ("table:celeba", "clip-rn50", "perception_clip", "80.22 85.17 4.95"),
        ("table:celeba", "clip-rn50", "dat_star", "78.53 88.29 9.76"),
        ("table:covid", "biomedclip", "dat", "65.22 75.69 10.47"),
        ("table:covid", "biomedclip", "dat_star", "72.41 74.30 1.89"),
        ("table:fmow", "clip-vit-l-14", "dat", "27.75 31.19 3.44"),
        ("table:fmow", "clip-vit-l-14", "group_prompt", "8.75 14.69 5.94"),
    ],
)
def test_anchors_of_the_main_tables(rows, source, backbone, method, printed):
    found = [r for r in rows if (r["source"], r["backbone"], r["method"]) == (source, backbone, method)]
    assert [" ".join((r["wg"], r["avg"], r["gap"])) for r in found] == [printed]


@pytest.mark.parametrize(
    ("source", "method", "column", "printed"),
    [
        ("figure:strength", "dat", "wg", "82.71 83.64 83.69 84.11 83.80 83.33 83.33 83.02 83.18 83.33"),
        ("figure:samples", "dat", "wg", "82.87 83.80 82.24 80.53 82.87 80.68 83.33"),
        ("figure:neighbours", "dat", "wg", "78.34 80.52 83.33 83.33 84.11 84.73 84.73 84.58 85.05 84.89"),
        ("figure:aggregation", "dat", "gap", "5.28 6.42 9.93 15.59 8.49 7.78"),
        ("table:efficiency", "tie", "seconds", "970 947 951"),
        ("table:efficiency", "dat", "seconds", "203 148 153"),
    ],
)
def test_figures_and_timings_are_as_plotted_and_printed(rows, source, method, column, printed):
    found = [row[column] for row in rows if (row["source"], row["method"]) == (source, method)]
    assert " ".join(found) == printed

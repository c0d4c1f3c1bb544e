"""What stands behind the numbers: costs, failures, changes, drift and provenance."""

from collections.abc import Sequence

from data_catalog.index.reader import Questions
from tasks.reporting.document import Column, Section
from tasks.reporting.not_applicable import places_not_applicable
from tasks.reporting.scope import Scope

_STEP_COSTS = """SELECT c.step, c.dataset, c.backbone, count(*) AS artifacts, sum(c.seconds) AS seconds,
    sum(c.cpu_seconds) AS cpu_seconds, max(c.peak_memory_mb) AS peak_memory_mb, sum(c.bytes)::BIGINT AS bytes,
    max((a.summary ->> 'images_per_second')::DOUBLE) AS images_per_second
FROM costs c JOIN artifacts a USING (key)
WHERE a.current AND {where}
GROUP BY c.step, c.dataset, c.backbone
ORDER BY min(c.created), c.step, c.dataset, c.backbone"""

_METHOD_COSTS = """SELECT c.dataset, c.backbone, c.method, c.seconds, c.cpu_seconds, c.rows AS images,
    c.rows / nullif(c.seconds, 0) AS images_per_second
FROM costs c JOIN artifacts a USING (key)
WHERE a.current AND c.step = 'predictions' AND a.rows > 0 AND c.variant = '' AND {where}
ORDER BY c.dataset, c.backbone, c.seconds DESC"""

_FAILED = """SELECT cell, outcome, reason, error, run_id, decided
FROM (
    SELECT DISTINCT ON (cell) * FROM decisions
    WHERE {where}
    ORDER BY cell, run_id DESC, position DESC
)
WHERE outcome IN ('failed', 'blocked')
ORDER BY outcome DESC, cell"""

_CHANGES = """SELECT dataset, backbone, method, variant, wg_before, wg, wg - wg_before AS wg_change, avg_before, avg,
    avg - avg_before AS avg_change, reason, run_id, created
FROM (
    SELECT a.*, (a.summary ->> 'wg')::DOUBLE AS wg, (a.summary ->> 'avg')::DOUBLE AS avg,
        lag((a.summary ->> 'wg')::DOUBLE) OVER versions AS wg_before,
        lag((a.summary ->> 'avg')::DOUBLE) OVER versions AS avg_before,
        d.reason
    FROM artifacts a LEFT JOIN decisions d ON d.key = a.key AND d.run_id = a.run_id AND d.cell = a.cell
    WHERE a.step = 'metrics' AND {where}
    WINDOW versions AS (PARTITION BY a.cell ORDER BY a.created)
)
WHERE current AND wg_before IS NOT NULL
ORDER BY abs(wg - wg_before) DESC, dataset, backbone, method, variant"""

_DRIFT = """SELECT cell, drifted, difference, wg_change, avg_change, run_id, decided
FROM drift
WHERE run_id = (SELECT max(run_id) FROM drift) AND {where}
ORDER BY drifted DESC, abs(wg_change) DESC NULLS LAST, cell"""

_PROVENANCE = """SELECT r.dataset, r.backbone, r.method, r.variant, r.seed, r.wg, r.run_id, r.created,
    r.key, m.code_version AS metrics_code, p.key AS predictions_key, p.code_version AS predictions_code,
    p.params -> 'settings' AS settings, p.params -> 'text' AS prompts,
    max(l.parent_content) FILTER (l.role = 'weights') AS weights,
    max(l.parent_content) FILTER (l.role = 'image_embeddings') AS image_embeddings,
    max(l.parent_content) FILTER (l.role = 'samples') AS samples
FROM results r
JOIN artifacts m ON m.key = r.key
JOIN lineage f ON f.key = r.key AND f.role = 'predictions'
LEFT JOIN artifacts p ON p.key = f.parent_key
LEFT JOIN lineage l ON l.key = p.key
WHERE {where}
GROUP BY ALL
ORDER BY r.dataset, r.backbone, r.method, r.variant, r.seed"""

_FACTS = """SELECT step, cell, facts, params, content, run_id, created
FROM artifacts
WHERE current AND step IN ('samples', 'files', 'weights', 'image_embeddings', 'text_embeddings') AND {where}
ORDER BY dataset, backbone, step, cell"""

_RUNS = """SELECT run_id, started, finished, status, command, request ->> 'request' AS request, computed,
    up_to_date, failed
FROM runs
ORDER BY run_id DESC
LIMIT 10"""


def costs_section(scope: Scope) -> Section:
    """Return what each step and each method has cost."""
    steps = scope.table(
        "costs-steps",
        "By step",
        _STEP_COSTS.format(where=scope.where(shared=True, of="c")),
        (
            Column("step", "Step"),
            Column("dataset", "Dataset"),
            Column("backbone", "Backbone"),
            Column("artifacts", "Artifacts", "count"),
            Column("seconds", "Seconds", "number", hint="Wall time"),
            Column("cpu_seconds", "CPU seconds", "number"),
            Column("peak_memory_mb", "Peak MB", "number", hint="Most memory that the process had held"),
            Column("bytes", "Stored", "bytes"),
            Column("images_per_second", "Images a second", "number", hint="Decoding and encoding together"),
        ),
        caption="What it took to make what stands now, whichever run made it.",
    )
    methods = scope.table(
        "costs-methods",
        "Scoring, by method",
        _METHOD_COSTS.format(where=scope.where(variants=False, of="c")),
        (
            Column("dataset", "Dataset"),
            Column("backbone", "Backbone"),
            Column("method", "Method"),
            Column("seconds", "Seconds", "number", "lowest"),
            Column("cpu_seconds", "CPU seconds", "number"),
            Column("images", "Images", "count"),
            Column("images_per_second", "Images a second", "number", "highest"),
        ),
        caption="From embeddings to predictions. The first method of a run also pays for loading libraries.",
        within=("dataset", "backbone"),
    )
    if not steps.records:
        return Section("costs", "Costs", remark="Nothing has been computed yet.")
    return Section("costs", "Costs", tables=[steps, methods] if methods.records else [steps])


def damage_section(questions: Questions) -> Section:
    """Return what is missing, damaged or unverified behind the answers so far."""
    return Section("damage", "Missing or damaged", [f"{warning}." for warning in questions.warnings])


def failures_section(scope: Scope, remarks: Sequence[str]) -> Section:
    """Return which cells failed when they were last tried, what was left out, and which results are not there."""
    failed = scope.table(
        "failures",
        "Failed and blocked",
        _FAILED.format(where=scope.where(shared=True)),
        (
            Column("cell", "Cell", "code"),
            Column("outcome", "Outcome"),
            Column("error", "What went wrong"),
            Column("reason", "Why it ran"),
            Column("run_id", "Run", "code"),
            Column("decided", "When", "moment"),
        ),
        caption="`dat run` tries them again.",
    )
    there = {
        tuple(row.values())
        for row in scope.ask(f"SELECT dataset, backbone, method, variant, seed FROM results WHERE {scope.where()}")
    }
    absent = sorted(scope.results - there - places_not_applicable(scope))
    text = list(remarks)
    if absent:
        names = ", ".join("/".join(filter(None, map(str, result[:4]))) for result in absent[:12])
        text.append(f"{len(absent)} results are not there yet: {names}{' …' if len(absent) > 12 else ''}.")
    if not failed.records and not text:
        return Section("failures", "Failures and gaps", remark="Nothing failed, was left out or is missing.")
    return Section("failures", "Failures and gaps", text, [failed] if failed.records else [])


def changes_section(scope: Scope) -> Section:
    """Return what differs from the version before, and what the last forced rerun found."""
    changes = scope.table(
        "changes",
        "Results that replaced others",
        _CHANGES.format(where=scope.where(of="a")),
        (
            Column("dataset", "Dataset"),
            Column("backbone", "Backbone"),
            Column("method", "Method"),
            Column("variant", "Settings"),
            Column("wg_before", "WG before", "percent"),
            Column("wg", "WG now", "percent"),
            Column("wg_change", "Change", "points"),
            Column("avg_change", "Avg change", "points"),
            Column("reason", "Why it was computed"),
            Column("run_id", "Run", "code"),
            Column("created", "When", "moment"),
        ),
        caption="The result that stands now beside the one it replaced.",
    )
    drift = scope.table(
        "drift",
        "The last forced rerun",
        _DRIFT.format(where=scope.where(shared=True)),
        (
            Column("cell", "Cell", "code"),
            Column("drifted", "Drifted", "yes"),
            Column("difference", "Largest difference", "number"),
            Column("wg_change", "WG change", "points"),
            Column("avg_change", "Avg change", "points"),
            Column("run_id", "Run", "code"),
            Column("decided", "When", "moment"),
        ),
        caption="`dat run --force` computes again, compares, and keeps what was stored.",
    )
    tables = [table for table in (changes, drift) if table.records]
    remark = (
        "" if tables else "No result replaced another, and nothing was computed again by force (`dat run --force`)."
    )
    return Section("changes", "Changes and drift", tables=tables, remark=remark)


def provenance_section(scope: Scope) -> Section:
    """Return where every number comes from: settings, prompts, weights, code and run."""
    cells = scope.table(
        "provenance",
        "Every result",
        _PROVENANCE.format(where=scope.where(of="r")),
        (
            Column("dataset", "Dataset"),
            Column("backbone", "Backbone"),
            Column("method", "Method"),
            Column("variant", "Settings that differ"),
            Column("seed", "Seed", "count"),
            Column("wg", "WG", "percent"),
            Column("run_id", "Run", "code"),
            Column("created", "When", "moment"),
            Column("key", "Key", "code"),
            Column("predictions_code", "Code", "code", hint="Hash over the code that made the predictions"),
            Column("weights", "Weights", "code", hint="Content digest of what was read from the model"),
            Column("image_embeddings", "Image embeddings", "code"),
            Column("samples", "Samples", "code"),
            Column("settings", "All settings", "code"),
            Column("prompts", "Prompts", "code"),
        ),
        caption="`dat why KEY` prints the whole lineage of a result.",
    )
    if not cells.records:
        return Section("provenance", "Provenance", remark="No result is there yet.")
    facts = scope.table(
        "facts",
        "Data and models",
        _FACTS.format(where=scope.where(shared=True)),
        (
            Column("cell", "Cell", "code"),
            Column("facts", "Facts", "code", hint="What decides the result outside our code"),
            Column("params", "Parameters", "code"),
            Column("content", "Content", "code"),
            Column("run_id", "Run", "code"),
            Column("created", "When", "moment"),
        ),
        caption="What datasets, weights and embeddings were made from.",
    )
    runs = scope.table(
        "runs",
        "The last runs",
        _RUNS,
        (
            Column("run_id", "Run", "code"),
            Column("started", "Started", "moment"),
            Column("finished", "Finished", "moment"),
            Column("status", "Status"),
            Column("command", "Command"),
            Column("request", "Request"),
            Column("computed", "Computed", "count"),
            Column("up_to_date", "Up to date", "count"),
            Column("failed", "Failed", "count"),
        ),
    )
    return Section("provenance", "Provenance", tables=[cells, facts, runs])

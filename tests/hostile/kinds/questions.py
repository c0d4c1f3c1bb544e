"""Questions in SQL."""

import random
from collections.abc import Iterator

from tests.hostile import mutating
from tests.hostile.kinds.kind import Kind, Words, write_specs
from tests.hostile.kinds.specs import SPECS
from tests.hostile.watching import Ran, World, dat

SECRET = "what-nobody-may-read"
ENDLESS = (
    "SELECT count(*) FROM range(1000000000000)",
    "FROM range(1000000000000)",
    "FROM range(1000000000000) ORDER BY random()",
    "SELECT sum(a.range * b.range) FROM range(100000000) a, range(100000000) b",
    "WITH RECURSIVE x AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM x) SELECT count(*) FROM x",
    "SELECT list(range) FROM range(1000000000000)",
    "SELECT sleep_ms(36000000)",
)
_ENOUGH = ("--timeout", "1", "--memory", "100MB")
"""Limits of the endless questions, which nobody is there to stop."""


class Questions(Kind):
    """SQL, from the command line and from the shell."""

    name = "questions"

    def prepare(self, world: World) -> None:
        """A home with a run, and a secret beside it."""
        write_specs(world, SPECS)
        assert dat(world, "run", "mine", "--method", "zero_shot").code == 0
        (world.work / "secret.csv").write_text(f"a\n{SECRET}\n")

    def harm(self, world: World, chance: random.Random) -> None:
        """Have the index there, or damaged, or not at all."""
        index = world.home / "catalog.duckdb"
        match chance.randrange(3):
            case 0:
                index.unlink()
            case 1:
                index.write_bytes(mutating.harmed_bytes(index.read_bytes(), chance))
        self.secret = str(chance.choice((world.work / "secret.csv", "secret.csv", world.home / "../work/secret.csv")))

    def commands(self, world: World, chance: random.Random) -> Iterator[Words]:
        """Ask four questions, now and then an endless one, which a limit ends."""
        for _ in range(4):
            output = ("--format", chance.choice(("table", "csv", "json")))
            if chance.random() < 0.1:
                yield ("sql", chance.choice(ENDLESS), *output, *_ENOUGH)
            else:
                yield ("sql", _question(chance, self.secret, world), *output)

    def run(self, world: World, words: Words) -> Ran:
        """Ask on the command line, or one question out of four in the shell."""
        if len(words[1]) % 4:
            return super().run(world, words)
        return dat(world, "sql", "--shell", *words[2:], limit=self.limit, stdin=words[1] + ";\n")

    def judge(self, world: World, ran: Ran) -> Iterator[str]:
        """Nothing is learnt and nothing is written, not even in the home."""
        if SECRET in ran.out + ran.err:
            yield "told a secret"
        if any(sql in ran.words for sql in ENDLESS) and ran.code != 1:
            yield f"an endless question ended with {ran.code}"
        strangers = {path.name for path in world.home.rglob("stolen*")}
        if strangers:
            yield f"wrote {', '.join(strangers)}"


def _question(chance: random.Random, secret: str, world: World) -> str:
    stolen = chance.choice((str(world.home / "stolen.csv"), str(world.home / "manifests/stolen.json"), "stolen.csv"))
    readers = ("read_csv", "read_text", "read_blob", "read_parquet", "read_json", "glob", "sniff_csv", "parquet_scan")
    sources = (
        *(f"{reader}('{secret}')" for reader in readers),
        f"'{secret}'",
        f"read_csv(['{secret}'])",
        f"query('SELECT * FROM read_text(''{secret}'')')",
        f"read_duckdb('{secret}')",
        "results",
        "artifacts",
        "duckdb_settings()",
        "duckdb_secrets()",
        "enable_logging('all', storage = 'file', storage_path = 'stolen')",
        "range(10)",
        "information_schema.tables",
        "pragma_database_size()",
    )
    source = chance.choice(sources)
    reading = chance.choice((f"SELECT * FROM {source}", f"FROM {source}", f"SELECT (SELECT count(*) FROM {source})"))
    writing = chance.choice(
        (
            f"COPY ({reading}) TO '{stolen}'",
            f"WITH x AS (COPY ({reading}) TO '{stolen}') SELECT 1",
            f"FROM json_execute_serialized_sql(json_serialize_sql('WITH x AS (COPY runs TO ''{stolen}'') SELECT 1'))",
            "WITH x AS (DELETE FROM store.artifacts RETURNING *) SELECT * FROM x",
            "WITH x AS (INSERT INTO store.runs (run_id) VALUES ('stolen') RETURNING *) FROM x",
            "WITH x AS (UPDATE store.meta SET home = 'stolen') SELECT 1",
            f"CREATE TABLE stolen AS {reading}",
            f"ATTACH '{stolen}' AS x",
            f"EXPORT DATABASE '{stolen}'",
            "INSTALL httpfs",
            "LOAD httpfs",
            "SET enable_external_access = true",
            "PRAGMA enable_profiling",
            "DELETE FROM store.artifacts",
        )
    )
    spoken = chance.choice(
        (
            reading,
            f"EXPLAIN ANALYZE {writing}",
            f"EXPLAIN {writing}",
            f"EXPLAIN (ANALYZE) {writing}",
            f"/* */ EXPLAIN ANALYZE {writing}",
            f"WITH x AS ({reading}) SELECT * FROM x",
            writing,
            f"{reading}; {writing}",
            f"SUMMARIZE {reading}",
            f"DESCRIBE {reading}",
            f"PIVOT ({reading}) ON 1",
        )
    )
    if chance.random() < 0.2:
        return mutating.harmed_bytes(spoken.encode(), chance).decode("utf-8", "replace").replace("\0", "\\0")
    return spoken

-- What the manifests and run records say, as tables. Derived: `dat catalog rebuild` rebuilds them.
CREATE SCHEMA IF NOT EXISTS store;
CREATE TABLE store.meta (recipe VARCHAR, home VARCHAR, fingerprint VARCHAR);
CREATE TABLE store.artifacts (
    key VARCHAR, stamp BIGINT, step VARCHAR, cell VARCHAR,
    dataset VARCHAR, backbone VARCHAR, method VARCHAR, variant VARCHAR, seed INTEGER,
    content VARCHAR, "rows" BIGINT, bytes BIGINT, files INTEGER, path VARCHAR,
    created TIMESTAMPTZ, run_id VARCHAR, code_version VARCHAR,
    code JSON, params JSON, facts JSON, summary JSON, cost JSON
);
CREATE TABLE store.lineage (key VARCHAR, role VARCHAR, parent_key VARCHAR, parent_content VARCHAR);
CREATE TABLE store.runs (
    run_id VARCHAR, size BIGINT, stamp BIGINT, started TIMESTAMPTZ, finished TIMESTAMPTZ, status VARCHAR,
    command VARCHAR, request JSON, host VARCHAR, pid BIGINT
);
CREATE TABLE store.decisions (
    run_id VARCHAR, position INTEGER, decided TIMESTAMPTZ, step VARCHAR, cell VARCHAR,
    dataset VARCHAR, backbone VARCHAR, method VARCHAR, variant VARCHAR, seed INTEGER,
    action VARCHAR, reason VARCHAR, key VARCHAR, outcome VARCHAR, seconds DOUBLE, error VARCHAR,
    difference DOUBLE, wg_change DOUBLE, avg_change DOUBLE
);
-- Data files that views read, as their manifests name them.
CREATE TABLE store.files (key VARCHAR, step VARCHAR, cell VARCHAR, path VARCHAR, sha256 VARCHAR);
-- What cannot be trusted or is not there: kind is manifest, record, missing or quarantined; key is the run of a record.
CREATE TABLE store.damage (
    kind VARCHAR, step VARCHAR, key VARCHAR, cell VARCHAR, stamp BIGINT, problem VARCHAR
);
-- The artifact that each cell stands for now. Cells that come out the same, such as a swept setting that equals the
-- default, share one artifact.
CREATE TABLE store.cells (
    cell VARCHAR, step VARCHAR,
    dataset VARCHAR, backbone VARCHAR, method VARCHAR, variant VARCHAR, seed INTEGER,
    key VARCHAR
);
CREATE TABLE store.paper (
    source VARCHAR, dataset VARCHAR, backbone VARCHAR, method VARCHAR, variant VARCHAR,
    wg DOUBLE, avg DOUBLE, gap DOUBLE, seconds DOUBLE, comparable BOOLEAN, note VARCHAR
);

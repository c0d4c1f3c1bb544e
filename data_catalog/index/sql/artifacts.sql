CREATE VIEW artifacts AS
SELECT
    a.key, a.step, a.cell, a.dataset, a.backbone, a.method, a.variant, a.seed,
    a.key IN (SELECT key FROM store.cells) AS current,
    a.content, a."rows", a.bytes, a.files, a.path, a.created, a.run_id, a.code_version,
    a.code, a.params, a.facts, a.summary
FROM store.artifacts a;
COMMENT ON VIEW artifacts IS 'One row for each committed artifact, also those that newer ones have superseded.';
COMMENT ON COLUMN artifacts.key IS 'Hash of everything that decides the result';
COMMENT ON COLUMN artifacts.step IS 'Step of the pipeline: samples, image_embeddings, text_embeddings, attributes, references, densities, predictions, metrics and others';
COMMENT ON COLUMN artifacts.cell IS 'Readable name of the cell it was computed for; others that come out the same may share it';
COMMENT ON COLUMN artifacts.dataset IS 'Name of the dataset';
COMMENT ON COLUMN artifacts.backbone IS 'Name of the vision-language model; empty where none is involved';
COMMENT ON COLUMN artifacts.method IS 'Name of the method; empty where none is involved';
COMMENT ON COLUMN artifacts.variant IS 'Settings that differ from the dataset''s own, as name=value; empty for none';
COMMENT ON COLUMN artifacts.seed IS 'Seed of everything random; 0 where nothing is';
COMMENT ON COLUMN artifacts.current IS 'Whether a cell stands for this version now: the one that the last run made or found up to date';
COMMENT ON COLUMN artifacts.content IS 'Digest of what the table says; equal content stops recomputation downstream';
COMMENT ON COLUMN artifacts.rows IS 'Number of rows';
COMMENT ON COLUMN artifacts.bytes IS 'Size of the Parquet files';
COMMENT ON COLUMN artifacts.files IS 'Number of Parquet files';
COMMENT ON COLUMN artifacts.path IS 'The first Parquet file, relative to DAT_HOME';
COMMENT ON COLUMN artifacts.created IS 'When it was committed';
COMMENT ON COLUMN artifacts.run_id IS 'The run that made it';
COMMENT ON COLUMN artifacts.code_version IS 'Hash over the code that made it';
COMMENT ON COLUMN artifacts.code IS 'Hash of each module that the step reaches';
COMMENT ON COLUMN artifacts.params IS 'Settings that decide the result';
COMMENT ON COLUMN artifacts.facts IS 'What decides the result outside our code: digests of weights and of imported files';
COMMENT ON COLUMN artifacts.summary IS 'The few values that are asked for most';

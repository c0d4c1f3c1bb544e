CREATE VIEW costs AS
SELECT
    step, cell, dataset, backbone, method, variant, seed, key, run_id, created,
    (cost ->> 'seconds')::DOUBLE AS seconds,
    (cost ->> 'cpu_seconds')::DOUBLE AS cpu_seconds,
    (cost ->> 'peak_memory_mb')::DOUBLE AS peak_memory_mb,
    "rows", bytes
FROM store.artifacts;
COMMENT ON VIEW costs IS 'What each artifact cost to make and to keep.';
COMMENT ON COLUMN costs.step IS 'Step of the pipeline';
COMMENT ON COLUMN costs.cell IS 'Readable name of the cell';
COMMENT ON COLUMN costs.dataset IS 'Name of the dataset';
COMMENT ON COLUMN costs.backbone IS 'Name of the vision-language model; empty where none is involved';
COMMENT ON COLUMN costs.method IS 'Name of the method; empty where none is involved';
COMMENT ON COLUMN costs.variant IS 'Settings that differ from the dataset''s own; empty for none';
COMMENT ON COLUMN costs.seed IS 'Seed of everything random';
COMMENT ON COLUMN costs.key IS 'Key of the artifact';
COMMENT ON COLUMN costs.run_id IS 'The run that made it';
COMMENT ON COLUMN costs.created IS 'When it was committed';
COMMENT ON COLUMN costs.seconds IS 'Wall time of the step, without reading inputs and writing the result';
COMMENT ON COLUMN costs.cpu_seconds IS 'Processor time of the step, all threads';
COMMENT ON COLUMN costs.peak_memory_mb IS 'Most memory the process had held when the step ended, in MB';
COMMENT ON COLUMN costs.rows IS 'Rows of the result';
COMMENT ON COLUMN costs.bytes IS 'Bytes of the result';

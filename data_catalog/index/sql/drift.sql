CREATE VIEW drift AS
SELECT
    run_id, decided, step, cell, dataset, backbone, method, variant, seed, key,
    outcome = 'drifted' AS drifted, difference, wg_change, avg_change
FROM store.decisions
WHERE outcome IN ('reproduced', 'drifted');
COMMENT ON VIEW drift IS 'Every cell that a forced run computed again, and how far it came out from what is stored.';
COMMENT ON COLUMN drift.run_id IS 'Number of the forced run';
COMMENT ON COLUMN drift.decided IS 'When';
COMMENT ON COLUMN drift.step IS 'Step of the pipeline';
COMMENT ON COLUMN drift.cell IS 'Readable name of the cell';
COMMENT ON COLUMN drift.dataset IS 'Name of the dataset';
COMMENT ON COLUMN drift.backbone IS 'Name of the vision-language model; empty where none is involved';
COMMENT ON COLUMN drift.method IS 'Name of the method; empty where none is involved';
COMMENT ON COLUMN drift.variant IS 'Settings that differ from the dataset''s own; empty for none';
COMMENT ON COLUMN drift.seed IS 'Seed of everything random';
COMMENT ON COLUMN drift.key IS 'Key of the stored artifact, which a forced run never replaces';
COMMENT ON COLUMN drift.drifted IS 'Whether it came out differently';
COMMENT ON COLUMN drift.difference IS 'Largest absolute difference of a number from the stored one; empty when reproduced, or when rows or texts differ';
COMMENT ON COLUMN drift.wg_change IS 'Worst-group accuracy computed again minus the stored one, in points; for metrics that drifted';
COMMENT ON COLUMN drift.avg_change IS 'Average accuracy computed again minus the stored one, in points; for metrics that drifted';

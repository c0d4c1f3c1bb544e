CREATE VIEW decisions AS
SELECT
    run_id, position, decided, step, cell, dataset, backbone, method, variant, seed,
    action, reason, outcome, key, seconds, error
FROM store.decisions;
COMMENT ON VIEW decisions IS 'What each run decided about each cell, why, and what came of it.';
COMMENT ON COLUMN decisions.run_id IS 'Number of the run';
COMMENT ON COLUMN decisions.position IS 'Order within the run';
COMMENT ON COLUMN decisions.decided IS 'When';
COMMENT ON COLUMN decisions.step IS 'Step of the pipeline';
COMMENT ON COLUMN decisions.cell IS 'Readable name of the cell';
COMMENT ON COLUMN decisions.dataset IS 'Name of the dataset';
COMMENT ON COLUMN decisions.backbone IS 'Name of the vision-language model; empty where none is involved';
COMMENT ON COLUMN decisions.method IS 'Name of the method; empty where none is involved';
COMMENT ON COLUMN decisions.variant IS 'Settings that differ from the dataset''s own; empty for none';
COMMENT ON COLUMN decisions.seed IS 'Seed of everything random';
COMMENT ON COLUMN decisions.action IS 'run or up to date';
COMMENT ON COLUMN decisions.reason IS 'Why it ran: new, code, params, facts, input, missing, corrupt or forced, with names; empty when up to date';
COMMENT ON COLUMN decisions.outcome IS 'computed, adopted (another process was computing it), up to date, reproduced or drifted (when forced), not applicable (the dataset cannot serve the method), failed, or blocked (an input failed)';
COMMENT ON COLUMN decisions.key IS 'Key of the artifact; empty when it could not be known';
COMMENT ON COLUMN decisions.seconds IS 'Time the step took';
COMMENT ON COLUMN decisions.error IS 'What went wrong, or why it is not applicable';

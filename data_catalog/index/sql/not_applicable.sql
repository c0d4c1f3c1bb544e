CREATE VIEW not_applicable AS
SELECT
    c.dataset, c.backbone, c.method, c.variant, c.seed,
    a.summary ->> 'not_applicable' AS reason,
    a.key, a.created, a.run_id
FROM store.cells c
JOIN store.artifacts a ON a.key = c.key
WHERE c.step = 'predictions' AND a.summary ->> 'not_applicable' IS NOT NULL;
COMMENT ON VIEW not_applicable IS 'Methods that cannot do on a dataset what their name says, and why: they have no result and did not fail.';
COMMENT ON COLUMN not_applicable.dataset IS 'Name of the dataset';
COMMENT ON COLUMN not_applicable.backbone IS 'Name of the vision-language model';
COMMENT ON COLUMN not_applicable.method IS 'Name of the method';
COMMENT ON COLUMN not_applicable.variant IS 'Settings that differ from the dataset''s own, as name=value; empty for none';
COMMENT ON COLUMN not_applicable.seed IS 'Seed of everything random';
COMMENT ON COLUMN not_applicable.reason IS 'What the dataset lacks';
COMMENT ON COLUMN not_applicable.key IS 'Key of the predictions artifact, which has no rows';
COMMENT ON COLUMN not_applicable.created IS 'When it was found out';
COMMENT ON COLUMN not_applicable.run_id IS 'The run that found it out';

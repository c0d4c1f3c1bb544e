CREATE VIEW results AS
SELECT
    c.dataset, c.backbone, c.method, c.variant, c.seed,
    (a.summary ->> 'wg')::DOUBLE AS wg,
    (a.summary ->> 'avg')::DOUBLE AS avg,
    (a.summary ->> 'avg_adjusted')::DOUBLE AS avg_adjusted,
    (a.summary ->> 'gap')::DOUBLE AS gap,
    (a.summary ->> 'wg_low')::DOUBLE AS wg_low,
    (a.summary ->> 'wg_high')::DOUBLE AS wg_high,
    (a.summary ->> 'avg_low')::DOUBLE AS avg_low,
    (a.summary ->> 'avg_high')::DOUBLE AS avg_high,
    a.summary ->> 'worst_group' AS worst_group,
    (a.summary ->> 'samples')::BIGINT AS samples,
    nullif(p.summary -> 'notes', '{}') AS notes,
    a.key, a.created, a.run_id
FROM store.cells c
JOIN store.artifacts a ON a.key = c.key
LEFT JOIN store.cells q
    ON q.step = 'predictions' AND q.dataset = c.dataset AND q.backbone = c.backbone
    AND q.method = c.method AND q.variant = c.variant AND q.seed = c.seed
LEFT JOIN store.artifacts p ON p.key = q.key
WHERE c.step = 'metrics' AND a.summary ->> 'not_applicable' IS NULL;
COMMENT ON VIEW results IS 'The current result of each dataset, backbone, method, variant and seed. Accuracies are in percent.';
COMMENT ON COLUMN results.dataset IS 'Name of the dataset';
COMMENT ON COLUMN results.backbone IS 'Name of the vision-language model';
COMMENT ON COLUMN results.method IS 'Name of the method';
COMMENT ON COLUMN results.variant IS 'Settings that differ from the dataset''s own, as name=value; empty for none';
COMMENT ON COLUMN results.seed IS 'Seed of everything random';
COMMENT ON COLUMN results.wg IS 'Accuracy of the worst group';
COMMENT ON COLUMN results.avg IS 'Share of all test samples that are right';
COMMENT ON COLUMN results.avg_adjusted IS 'Mean of the groups'' accuracies weighted by their sizes in the training split; empty without one';
COMMENT ON COLUMN results.gap IS 'avg minus wg';
COMMENT ON COLUMN results.wg_low IS 'Lower end of the 95 % bootstrap interval of wg';
COMMENT ON COLUMN results.wg_high IS 'Upper end of the 95 % bootstrap interval of wg';
COMMENT ON COLUMN results.avg_low IS 'Lower end of the 95 % bootstrap interval of avg';
COMMENT ON COLUMN results.avg_high IS 'Upper end of the 95 % bootstrap interval of avg';
COMMENT ON COLUMN results.worst_group IS 'The group that wg is the accuracy of';
COMMENT ON COLUMN results.samples IS 'Number of test samples';
COMMENT ON COLUMN results.notes IS 'What must be known beside the number, such as groups dropped for lack of references';
COMMENT ON COLUMN results.key IS 'Key of the metrics artifact';
COMMENT ON COLUMN results.created IS 'When it was computed';
COMMENT ON COLUMN results.run_id IS 'The run that computed it';

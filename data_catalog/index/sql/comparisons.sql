CREATE VIEW comparisons AS
WITH unnested AS (
    SELECT
        c.dataset, c.backbone, c.method, c.variant, c.seed, substr(c.step, 6) AS baseline, a.key,
        unnest(from_json(a.summary -> 'figures', '[{
            "figure": "VARCHAR", "difference": "DOUBLE", "low": "DOUBLE", "high": "DOUBLE", "higher": "DOUBLE"
        }]')) AS f
    FROM store.cells c JOIN store.artifacts a ON a.key = c.key
    WHERE c.step LIKE 'over\_%' ESCAPE '\'
)
SELECT
    u.dataset, u.backbone, u.method, u.variant, u.seed, u.baseline, u.f.figure AS figure,
    u.f.difference AS difference, u.f.low AS low, u.f.high AS high, u.f.higher AS higher,
    CASE
        WHEN u.f.low > 0 THEN 'higher'
        WHEN u.f.high < 0 THEN 'lower'
        ELSE 'unsure'
    END AS verdict,
    u.key
FROM unnested u
-- What was compared must be what stands now, by content: a comparison with superseded predictions says nothing.
SEMI JOIN (
    SELECT l.key, c.dataset, c.backbone, c.method, c.variant, c.seed
    FROM store.lineage l JOIN store.artifacts p ON p.content = l.parent_content AND p.step = 'predictions'
    JOIN store.cells c ON c.key = p.key
    WHERE l.role = 'predictions'
) ours
    ON ours.key = u.key AND ours.dataset = u.dataset AND ours.backbone = u.backbone
    AND ours.method = u.method AND ours.variant = u.variant AND ours.seed = u.seed
SEMI JOIN (
    SELECT l.key, c.dataset, c.backbone, c.method, c.seed
    FROM store.lineage l JOIN store.artifacts p ON p.content = l.parent_content AND p.step = 'predictions'
    JOIN store.cells c ON c.key = p.key AND c.variant = ''
    WHERE l.role = 'baseline'
) theirs
    ON theirs.key = u.key AND theirs.dataset = u.dataset AND theirs.backbone = u.backbone
    AND theirs.method = u.baseline AND theirs.seed = u.seed;
COMMENT ON VIEW comparisons IS 'Each method beside zero-shot and beside TIE on the same test samples, by a paired bootstrap of 2,000 resamples.';
COMMENT ON COLUMN comparisons.dataset IS 'Name of the dataset';
COMMENT ON COLUMN comparisons.backbone IS 'Name of the vision-language model';
COMMENT ON COLUMN comparisons.method IS 'Name of the method';
COMMENT ON COLUMN comparisons.variant IS 'Settings that differ from the dataset''s own; always empty, for only those are compared';
COMMENT ON COLUMN comparisons.seed IS 'Seed of everything random, of both';
COMMENT ON COLUMN comparisons.baseline IS 'What it is compared with: zero_shot or tie';
COMMENT ON COLUMN comparisons.figure IS 'wg, avg or gap';
COMMENT ON COLUMN comparisons.difference IS 'The method''s figure minus the baseline''s, in points';
COMMENT ON COLUMN comparisons.low IS 'Lower end of the 95 % interval of the difference';
COMMENT ON COLUMN comparisons.high IS 'Upper end of the 95 % interval of the difference';
COMMENT ON COLUMN comparisons.higher IS 'Share of resamples in which the method''s figure is the higher one; ties count half';
COMMENT ON COLUMN comparisons.verdict IS 'higher or lower where the interval leaves out 0, else unsure';
COMMENT ON COLUMN comparisons.key IS 'Key of the comparison artifact';

CREATE VIEW group_accuracy AS
WITH unnested AS (
    SELECT
        c.dataset, c.backbone, c.method, c.variant, c.seed, a.key,
        unnest(from_json(a.summary -> 'groups', '[{
            "group": "VARCHAR", "label": "INTEGER", "attribute": "INTEGER",
            "correct": "BIGINT", "total": "BIGINT", "accuracy": "DOUBLE", "worst_share": "DOUBLE"
        }]')) AS g
    FROM store.cells c JOIN store.artifacts a ON a.key = c.key
    WHERE c.step = 'metrics'
)
SELECT
    dataset, backbone, method, variant, seed,
    g."group" AS group_name, g.label AS label, g.attribute AS attribute,
    g.accuracy AS accuracy, g.correct AS correct, g.total AS total, g.worst_share AS worst_share, key
FROM unnested;
COMMENT ON VIEW group_accuracy IS 'Accuracy of each group in each current result.';
COMMENT ON COLUMN group_accuracy.dataset IS 'Name of the dataset';
COMMENT ON COLUMN group_accuracy.backbone IS 'Name of the vision-language model';
COMMENT ON COLUMN group_accuracy.method IS 'Name of the method';
COMMENT ON COLUMN group_accuracy.variant IS 'Settings that differ from the dataset''s own; empty for none';
COMMENT ON COLUMN group_accuracy.seed IS 'Seed of everything random';
COMMENT ON COLUMN group_accuracy.group_name IS 'Class and attribute in words';
COMMENT ON COLUMN group_accuracy.label IS 'Class of the group; empty where groups are attributes alone';
COMMENT ON COLUMN group_accuracy.attribute IS 'Attribute of the group';
COMMENT ON COLUMN group_accuracy.accuracy IS 'Percent of the group''s test samples that are right; empty for a group without any';
COMMENT ON COLUMN group_accuracy.correct IS 'Number of test samples that are right';
COMMENT ON COLUMN group_accuracy.total IS 'Number of test samples';
COMMENT ON COLUMN group_accuracy.worst_share IS 'Share of bootstrap draws in which this group was the worst';
COMMENT ON COLUMN group_accuracy.key IS 'Key of the metrics artifact';

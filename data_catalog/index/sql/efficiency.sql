CREATE VIEW efficiency AS
WITH RECURSIVE behind AS (
    SELECT c.dataset, c.backbone, c.method, c.variant, c.seed, c.key AS result, c.key
    FROM store.cells c SEMI JOIN store.artifacts r ON r.key = c.key AND r.summary ->> 'not_applicable' IS NULL
    WHERE c.step = 'predictions'
    UNION
    SELECT b.dataset, b.backbone, b.method, b.variant, b.seed, b.result, l.parent_key
    FROM behind b JOIN store.lineage l ON l.key = b.key
), once AS (
    -- What was made again with the same content counts once, as it was made last.
    SELECT DISTINCT ON (b.dataset, b.backbone, b.method, b.variant, b.seed, a.step, a.content)
        b.dataset, b.backbone, b.method, b.variant, b.seed, b.result, a.step, a.cost, a."rows", a.summary
    FROM behind b JOIN store.artifacts a ON a.key = b.key
    ORDER BY a.created DESC, a.key
), told AS (
    SELECT
        a.dataset, a.backbone, a.method, a.variant, a.seed, a.result,
        sum((a.cost ->> 'seconds')::DOUBLE) FILTER (a.step = 'image_embeddings') AS all_seconds,
        max(a."rows") FILTER (a.step = 'image_embeddings') AS all_images,
        any_value(a.summary -> 'splits') FILTER (a.step = 'samples') AS splits,
        sum((a.cost ->> 'seconds')::DOUBLE) FILTER (a.step IN ('attributes', 'references')) AS reference_seconds,
        sum((a.cost ->> 'seconds')::DOUBLE) FILTER (a.step = 'densities') AS density_seconds,
        sum((a.cost ->> 'seconds')::DOUBLE) FILTER (a.step = 'predictions') AS prediction_seconds
    FROM once a
    GROUP BY ALL
), counted AS (
    SELECT
        t.*, p.params ->> 'pool_split' AS pool_split, (t.splits ->> 'test')::BIGINT AS test_images,
        coalesce(json_extract(t.splits, '$.' || (p.params ->> 'pool_split'))::BIGINT, 0) AS pool_images
    FROM told t JOIN store.artifacts p ON p.key = t.result
)
SELECT
    dataset, backbone, method, variant, seed, pool_split, test_images, pool_images,
    test_images + pool_images AS images_encoded,
    all_seconds * (test_images + pool_images) / all_images AS encoding_seconds,
    coalesce(reference_seconds, 0) AS reference_seconds,
    coalesce(density_seconds, 0) AS density_seconds,
    prediction_seconds,
    coalesce(reference_seconds, 0) + coalesce(density_seconds, 0) + prediction_seconds AS scoring_seconds,
    result AS key
FROM counted;
COMMENT ON VIEW efficiency IS 'What each result costs: images that must be encoded, time to encode them, and time to score with embeddings at hand.';
COMMENT ON COLUMN efficiency.dataset IS 'Name of the dataset';
COMMENT ON COLUMN efficiency.backbone IS 'Name of the vision-language model';
COMMENT ON COLUMN efficiency.method IS 'Name of the method';
COMMENT ON COLUMN efficiency.variant IS 'Settings that differ from the dataset''s own; empty for none';
COMMENT ON COLUMN efficiency.seed IS 'Seed of everything random';
COMMENT ON COLUMN efficiency.pool_split IS 'Split that the method reads beside the test split; empty for none';
COMMENT ON COLUMN efficiency.test_images IS 'Images of the test split';
COMMENT ON COLUMN efficiency.pool_images IS 'Images of the other split; 0 for none';
COMMENT ON COLUMN efficiency.images_encoded IS 'Images that the method needs embeddings of';
COMMENT ON COLUMN efficiency.encoding_seconds IS 'Their share of the time that it took to embed the whole dataset';
COMMENT ON COLUMN efficiency.reference_seconds IS 'Time to infer attributes and choose references; they may serve other results too';
COMMENT ON COLUMN efficiency.density_seconds IS 'Time to measure densities; 0 where they came from a pass for other settings';
COMMENT ON COLUMN efficiency.prediction_seconds IS 'Time to predict';
COMMENT ON COLUMN efficiency.scoring_seconds IS 'References, densities and predictions together';
COMMENT ON COLUMN efficiency.key IS 'Key of the predictions artifact';

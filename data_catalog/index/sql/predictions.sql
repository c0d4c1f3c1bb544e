CREATE VIEW predictions AS
SELECT
    c.dataset, c.backbone, c.method, c.variant, c.seed,
    p.sample_id, p.label, p.attribute, p.prediction, p.prediction = p.label AS correct, p.margin, a.key
FROM store.prediction_files p
JOIN store.artifacts a ON a.step = 'predictions' AND parse_filename(p.filename) = parse_filename(a.path)
JOIN store.cells c ON c.key = a.key;
COMMENT ON VIEW predictions IS 'One row for each test sample and current method, read from the Parquet files.';
COMMENT ON COLUMN predictions.dataset IS 'Name of the dataset';
COMMENT ON COLUMN predictions.backbone IS 'Name of the vision-language model';
COMMENT ON COLUMN predictions.method IS 'Name of the method';
COMMENT ON COLUMN predictions.variant IS 'Settings that differ from the dataset''s own; empty for none';
COMMENT ON COLUMN predictions.seed IS 'Seed of everything random';
COMMENT ON COLUMN predictions.sample_id IS 'The test sample';
COMMENT ON COLUMN predictions.label IS 'Its true class';
COMMENT ON COLUMN predictions.attribute IS 'Its true attribute';
COMMENT ON COLUMN predictions.prediction IS 'The predicted class';
COMMENT ON COLUMN predictions.correct IS 'Whether the prediction is right';
COMMENT ON COLUMN predictions.margin IS 'Best score minus second best, in the method''s own unit; empty where it has no scores';
COMMENT ON COLUMN predictions.key IS 'Key of the predictions artifact';

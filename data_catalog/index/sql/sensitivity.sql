CREATE VIEW sensitivity AS
WITH sources AS (
    SELECT 'prompts' AS source, * FROM results WHERE variant = '' OR regexp_full_match(variant, 'prompts=[^,]*')
    UNION ALL
    SELECT 'references', * FROM results WHERE variant = 'references=random'
    UNION ALL
    SELECT variant, * FROM results WHERE regexp_full_match(variant, 'corruption=[^,]*')
), usual AS (
    SELECT dataset, backbone, method, avg(wg) AS wg FROM results WHERE variant = '' GROUP BY ALL
)
SELECT
    s.dataset, s.backbone, s.method, s.source, count(*) AS results,
    min(s.wg) AS wg_lowest, quantile_cont(s.wg, 0.25) AS wg_quarter, median(s.wg) AS wg_median,
    quantile_cont(s.wg, 0.75) AS wg_three_quarters, max(s.wg) AS wg_highest,
    avg(s.wg) AS wg_mean, stddev_samp(s.wg) AS wg_deviation, any_value(u.wg) AS wg_usual,
    avg(s.avg) AS avg_mean, stddev_samp(s.avg) AS avg_deviation
FROM sources s LEFT JOIN usual u USING (dataset, backbone, method)
GROUP BY s.dataset, s.backbone, s.method, s.source
HAVING count(*) > 1;
COMMENT ON VIEW sensitivity IS 'How far results spread over prompt sets, over references drawn at random, and over seeds of corruption.';
COMMENT ON COLUMN sensitivity.dataset IS 'Name of the dataset';
COMMENT ON COLUMN sensitivity.backbone IS 'Name of the vision-language model';
COMMENT ON COLUMN sensitivity.method IS 'Name of the method';
COMMENT ON COLUMN sensitivity.source IS 'What varies: prompts (the dataset''s own set among them), references (drawn at random, by seed), or the seed of a share of corruption, such as corruption=0.1';
COMMENT ON COLUMN sensitivity.results IS 'Number of results';
COMMENT ON COLUMN sensitivity.wg_lowest IS 'Lowest worst-group accuracy, in percent';
COMMENT ON COLUMN sensitivity.wg_quarter IS 'First quartile';
COMMENT ON COLUMN sensitivity.wg_median IS 'Median';
COMMENT ON COLUMN sensitivity.wg_three_quarters IS 'Third quartile';
COMMENT ON COLUMN sensitivity.wg_highest IS 'Highest';
COMMENT ON COLUMN sensitivity.wg_mean IS 'Mean';
COMMENT ON COLUMN sensitivity.wg_deviation IS 'Standard deviation';
COMMENT ON COLUMN sensitivity.wg_usual IS 'That of the method with its usual settings and prompts; empty where it was not run';
COMMENT ON COLUMN sensitivity.avg_mean IS 'Mean of the average accuracy';
COMMENT ON COLUMN sensitivity.avg_deviation IS 'Its standard deviation';

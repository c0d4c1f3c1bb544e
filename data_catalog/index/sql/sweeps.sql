CREATE VIEW sweeps AS
WITH over_seeds AS (
    SELECT
        dataset, backbone, method, variant, count(*) AS seeds,
        avg(wg) AS wg, stddev_samp(wg) AS wg_deviation, min(wg) AS wg_lowest, max(wg) AS wg_highest,
        avg(avg) AS avg, stddev_samp(avg) AS avg_deviation,
        avg(avg_adjusted) AS avg_adjusted, avg(gap) AS gap, stddev_samp(gap) AS gap_deviation,
        avg(wg_low) AS wg_low, avg(wg_high) AS wg_high,
        avg((notes ->> 'negative_similarity_share')::DOUBLE) AS negative_share,
        max((notes ->> 'active_groups')::BIGINT) AS active_groups,
        max(json_array_length(notes -> 'dropped_groups')) AS dropped_groups
    FROM results GROUP BY ALL
), pairs AS (
    SELECT *, unnest(string_split(variant, ', ')) AS pair FROM over_seeds WHERE variant <> ''
)
SELECT
    dataset, backbone, method, variant,
    string_split(pair, '=')[1] AS setting,
    pair[length(string_split(pair, '=')[1]) + 2:] AS value,
    try_cast(pair[length(string_split(pair, '=')[1]) + 2:] AS DOUBLE) AS number,
    array_to_string(list_filter(string_split(variant, ', '), lambda other: other <> pair), ', ') AS others,
    seeds, wg, wg_deviation, wg_lowest, wg_highest, avg, avg_deviation, avg_adjusted, gap, gap_deviation,
    wg_low, wg_high, negative_share, active_groups, dropped_groups
FROM pairs;
COMMENT ON VIEW sweeps IS 'One row for each setting of each variant: mean and spread over seeds, to be drawn against the setting''s value.';
COMMENT ON COLUMN sweeps.dataset IS 'Name of the dataset';
COMMENT ON COLUMN sweeps.backbone IS 'Name of the vision-language model';
COMMENT ON COLUMN sweeps.method IS 'Name of the method';
COMMENT ON COLUMN sweeps.variant IS 'All settings that differ from the dataset''s own';
COMMENT ON COLUMN sweeps.setting IS 'One of these settings, such as strength';
COMMENT ON COLUMN sweeps.value IS 'Its value as text';
COMMENT ON COLUMN sweeps.number IS 'Its value as a number; empty where it is none';
COMMENT ON COLUMN sweeps.others IS 'The other settings of the variant; empty for none';
COMMENT ON COLUMN sweeps.seeds IS 'Number of seeds';
COMMENT ON COLUMN sweeps.wg IS 'Accuracy of the worst group in percent, mean over seeds';
COMMENT ON COLUMN sweeps.wg_deviation IS 'Its standard deviation over seeds; empty for one seed';
COMMENT ON COLUMN sweeps.wg_lowest IS 'The lowest over seeds';
COMMENT ON COLUMN sweeps.wg_highest IS 'The highest over seeds';
COMMENT ON COLUMN sweeps.avg IS 'Share of all test samples that are right in percent, mean over seeds';
COMMENT ON COLUMN sweeps.avg_deviation IS 'Its standard deviation over seeds; empty for one seed';
COMMENT ON COLUMN sweeps.avg_adjusted IS 'Average weighted by training group sizes, mean over seeds; empty without them';
COMMENT ON COLUMN sweeps.gap IS 'avg minus wg, mean over seeds';
COMMENT ON COLUMN sweeps.gap_deviation IS 'Its standard deviation over seeds; empty for one seed';
COMMENT ON COLUMN sweeps.wg_low IS 'Lower end of the 95 % bootstrap interval of wg, mean over seeds';
COMMENT ON COLUMN sweeps.wg_high IS 'Upper end of it';
COMMENT ON COLUMN sweeps.negative_share IS 'Share of similarities that are negative, where a quotient reverses its meaning; empty for methods that do not say';
COMMENT ON COLUMN sweeps.active_groups IS 'Groups that have references; empty for methods without any';
COMMENT ON COLUMN sweeps.dropped_groups IS 'Groups dropped for lack of references; empty for methods without any';

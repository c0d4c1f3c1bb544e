CREATE VIEW leaderboard AS
WITH over_seeds AS (
    SELECT
        dataset, backbone, method, variant, count(*) AS seeds,
        avg(wg) AS wg, avg(avg) AS avg, avg(avg_adjusted) AS avg_adjusted, avg(gap) AS gap,
        avg(wg_low) AS wg_low, avg(wg_high) AS wg_high, arg_min(notes, seed) AS notes
    FROM results GROUP BY ALL
)
SELECT
    o.dataset, o.backbone,
    rank() OVER (PARTITION BY o.dataset, o.backbone ORDER BY o.wg DESC) AS rank,
    o.method, o.variant, o.wg, o.avg, o.avg_adjusted, o.gap, o.wg_low, o.wg_high,
    o.wg - z.wg AS over_zero_shot, o.seeds, o.notes
FROM over_seeds o
LEFT JOIN over_seeds z
    ON z.dataset = o.dataset AND z.backbone = o.backbone AND z.method = 'zero_shot' AND z.variant = ''
ORDER BY o.dataset, o.backbone, rank, o.method, o.variant;
COMMENT ON VIEW leaderboard IS 'Methods ranked by worst-group accuracy for each dataset and backbone; several seeds are averaged.';
COMMENT ON COLUMN leaderboard.dataset IS 'Name of the dataset';
COMMENT ON COLUMN leaderboard.backbone IS 'Name of the vision-language model';
COMMENT ON COLUMN leaderboard.rank IS 'Place by wg, 1 is best';
COMMENT ON COLUMN leaderboard.method IS 'Name of the method';
COMMENT ON COLUMN leaderboard.variant IS 'Settings that differ from the dataset''s own; empty for none';
COMMENT ON COLUMN leaderboard.wg IS 'Accuracy of the worst group, in percent';
COMMENT ON COLUMN leaderboard.avg IS 'Share of all test samples that are right, in percent';
COMMENT ON COLUMN leaderboard.avg_adjusted IS 'Average weighted by training group sizes, in percent; empty without them';
COMMENT ON COLUMN leaderboard.gap IS 'avg minus wg';
COMMENT ON COLUMN leaderboard.wg_low IS 'Lower end of the 95 % bootstrap interval of wg';
COMMENT ON COLUMN leaderboard.wg_high IS 'Upper end of the 95 % bootstrap interval of wg';
COMMENT ON COLUMN leaderboard.over_zero_shot IS 'wg minus that of zero-shot on the same dataset and backbone';
COMMENT ON COLUMN leaderboard.seeds IS 'Number of seeds averaged';
COMMENT ON COLUMN leaderboard.notes IS 'What must be known beside the number, of the first seed; empty for nothing';

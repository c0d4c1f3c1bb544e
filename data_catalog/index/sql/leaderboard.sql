CREATE VIEW leaderboard AS
-- What a result rests on: rows that rest on other data or weights are neither averaged nor ranked together.
WITH rests_on AS (
    SELECT
        q.dataset, q.backbone, q.method, q.variant, q.seed,
        max(b.parent_content) FILTER (b.role = 'samples') AS samples,
        max(b.parent_content) FILTER (b.role = 'image_embeddings') AS image_embeddings,
        max(b.parent_content) FILTER (b.role = 'weights') AS weights
    FROM store.cells q JOIN store.lineage b ON b.key = q.key
    WHERE q.step = 'predictions'
    GROUP BY ALL
), based AS (
    SELECT
        r.*, b.samples AS b_samples, b.image_embeddings AS b_images, b.weights AS b_weights,
        concat_ws(' ', a.params ->> 'groups', a.params ->> 'classes', a.params ->> 'attributes') AS b_groups
    FROM results r JOIN store.artifacts a ON a.key = r.key
    LEFT JOIN rests_on b
        ON b.dataset = r.dataset AND b.backbone = r.backbone AND b.method = r.method
        AND b.variant = r.variant AND b.seed = r.seed
), newest AS (
    SELECT DISTINCT ON (dataset, backbone) * FROM based ORDER BY dataset, backbone, created DESC, key
), described AS (
    SELECT
        b.*,
        concat_ws(', ',
            CASE WHEN b.b_weights IS DISTINCT FROM n.b_weights THEN 'weights' END,
            CASE WHEN b.b_samples IS DISTINCT FROM n.b_samples THEN 'samples' END,
            CASE WHEN b.b_images IS DISTINCT FROM n.b_images THEN 'image embeddings' END,
            CASE WHEN b.b_groups IS DISTINCT FROM n.b_groups THEN 'groups' END
        ) AS differs,
        substr(md5(concat_ws(' ', b.b_weights, b.b_samples, b.b_images, b.b_groups)), 1, 12) AS basis
    FROM based b JOIN newest n ON n.dataset = b.dataset AND n.backbone = b.backbone
), over_seeds AS (
    SELECT
        dataset, backbone, method, variant, basis, differs, count(*) AS seeds,
        avg(wg) AS wg, avg(avg) AS avg, avg(avg_adjusted) AS avg_adjusted, avg(gap) AS gap,
        avg(wg_low) AS wg_low, avg(wg_high) AS wg_high, avg(avg_low) AS avg_low, avg(avg_high) AS avg_high,
        arg_min(notes, seed) AS notes
    FROM described GROUP BY ALL
), compared AS (
    SELECT
        dataset, backbone, method, variant, baseline,
        avg(difference) AS difference, avg(low) AS low, avg(high) AS high, avg(higher) AS higher
    FROM comparisons WHERE figure = 'wg' GROUP BY ALL
)
SELECT
    o.dataset, o.backbone,
    rank() OVER (PARTITION BY o.dataset, o.backbone, o.basis ORDER BY o.wg DESC) AS rank,
    o.method, o.variant, o.wg, o.avg, o.avg_adjusted, o.gap, o.wg_low, o.wg_high, o.avg_low, o.avg_high,
    rank() OVER (PARTITION BY o.dataset, o.backbone, o.basis ORDER BY o.avg DESC) AS avg_rank,
    rank() OVER (PARTITION BY o.dataset, o.backbone, o.basis ORDER BY o.gap) AS gap_rank,
    o.wg - z.wg AS over_zero_shot, cz.low AS over_zero_shot_low, cz.high AS over_zero_shot_high,
    cz.higher AS beats_zero_shot,
    o.wg - t.wg AS over_tie, ct.low AS over_tie_low, ct.high AS over_tie_high, ct.higher AS beats_tie,
    o.seeds, o.notes, o.basis, nullif(o.differs, '') AS differs
FROM over_seeds o
LEFT JOIN over_seeds z
    ON z.dataset = o.dataset AND z.backbone = o.backbone AND z.basis = o.basis AND z.method = 'zero_shot' AND z.variant = ''
LEFT JOIN over_seeds t
    ON t.dataset = o.dataset AND t.backbone = o.backbone AND t.basis = o.basis AND t.method = 'tie' AND t.variant = ''
LEFT JOIN compared cz
    ON cz.dataset = o.dataset AND cz.backbone = o.backbone AND cz.method = o.method AND cz.variant = o.variant
    AND cz.baseline = 'zero_shot' AND z.wg IS NOT NULL
LEFT JOIN compared ct
    ON ct.dataset = o.dataset AND ct.backbone = o.backbone AND ct.method = o.method AND ct.variant = o.variant
    AND ct.baseline = 'tie' AND t.wg IS NOT NULL
ORDER BY o.dataset, o.backbone, o.differs <> '', o.basis, rank, o.method, o.variant;
COMMENT ON VIEW leaderboard IS 'Methods ranked by worst-group accuracy for each dataset and backbone, among results that rest on the same data and weights; several seeds are averaged.';
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
COMMENT ON COLUMN leaderboard.avg_low IS 'Lower end of the 95 % bootstrap interval of avg';
COMMENT ON COLUMN leaderboard.avg_high IS 'Upper end of the 95 % bootstrap interval of avg';
COMMENT ON COLUMN leaderboard.avg_rank IS 'Place by avg, 1 is best';
COMMENT ON COLUMN leaderboard.gap_rank IS 'Place by gap, 1 is the smallest';
COMMENT ON COLUMN leaderboard.over_zero_shot IS 'wg minus that of zero-shot on the same dataset and backbone';
COMMENT ON COLUMN leaderboard.over_zero_shot_low IS 'Lower end of the 95 % interval of over_zero_shot, paired by sample; empty for variants';
COMMENT ON COLUMN leaderboard.over_zero_shot_high IS 'Upper end of it; the gain is significant where the interval leaves out 0';
COMMENT ON COLUMN leaderboard.beats_zero_shot IS 'Share of resamples in which wg is above that of zero-shot';
COMMENT ON COLUMN leaderboard.over_tie IS 'wg minus that of TIE on the same dataset and backbone';
COMMENT ON COLUMN leaderboard.over_tie_low IS 'Lower end of the 95 % interval of over_tie, paired by sample; empty for variants';
COMMENT ON COLUMN leaderboard.over_tie_high IS 'Upper end of it';
COMMENT ON COLUMN leaderboard.beats_tie IS 'Share of resamples in which wg is above that of TIE';
COMMENT ON COLUMN leaderboard.seeds IS 'Number of seeds averaged';
COMMENT ON COLUMN leaderboard.notes IS 'What must be known beside the number, of the first seed; empty for nothing';
COMMENT ON COLUMN leaderboard.basis IS 'What the row rests on (weights, samples, image embeddings, groups), as a short hash; ranks are among rows of the same';
COMMENT ON COLUMN leaderboard.differs IS 'In what it rests on something else than the newest result of its dataset and backbone; empty for nothing';

CREATE VIEW vs_paper AS
SELECT
    p.source, p.dataset, p.backbone, p.method, p.variant, r.seed,
    r.wg AS wg, p.wg AS paper_wg, r.wg - p.wg AS wg_difference,
    r.avg AS avg, p.avg AS paper_avg, r.avg - p.avg AS avg_difference,
    p.wg BETWEEN r.wg_low AND r.wg_high AS wg_in_interval,
    p.avg BETWEEN r.avg_low AND r.avg_high AS avg_in_interval,
    r.gap AS gap, p.gap AS paper_gap, r.wg_low, r.wg_high,
    p.comparable, p.note,
    CASE
        WHEN p.wg BETWEEN r.wg_low AND r.wg_high AND coalesce(p.avg BETWEEN r.avg_low AND r.avg_high, true)
            THEN 'within our intervals'
        WHEN p.note <> '' THEN p.note
        ELSE 'not known'
    END AS why
FROM store.paper p
JOIN results r
    ON r.dataset = p.dataset AND r.backbone = p.backbone AND r.method = p.method AND r.variant = p.variant;
COMMENT ON VIEW vs_paper IS 'Our results beside the paper''s numbers, where both exist.';
COMMENT ON COLUMN vs_paper.source IS 'Table or figure of the paper';
COMMENT ON COLUMN vs_paper.dataset IS 'Name of the dataset';
COMMENT ON COLUMN vs_paper.backbone IS 'Name of the vision-language model';
COMMENT ON COLUMN vs_paper.method IS 'Name of the method';
COMMENT ON COLUMN vs_paper.variant IS 'What differs from the main setting; empty for the main setting';
COMMENT ON COLUMN vs_paper.seed IS 'Seed of our result';
COMMENT ON COLUMN vs_paper.wg IS 'Our worst-group accuracy, in percent';
COMMENT ON COLUMN vs_paper.paper_wg IS 'The paper''s';
COMMENT ON COLUMN vs_paper.wg_difference IS 'Ours minus the paper''s';
COMMENT ON COLUMN vs_paper.avg IS 'Our average accuracy, in percent';
COMMENT ON COLUMN vs_paper.paper_avg IS 'The paper''s';
COMMENT ON COLUMN vs_paper.avg_difference IS 'Ours minus the paper''s';
COMMENT ON COLUMN vs_paper.wg_in_interval IS 'Whether the paper''s wg lies in our 95 % interval';
COMMENT ON COLUMN vs_paper.avg_in_interval IS 'Whether the paper''s avg lies in our 95 % interval';
COMMENT ON COLUMN vs_paper.comparable IS 'Whether the paper''s number rests on what its row claims';
COMMENT ON COLUMN vs_paper.note IS 'Known misprint, or why the numbers cannot be compared';
COMMENT ON COLUMN vs_paper.gap IS 'Our gap';
COMMENT ON COLUMN vs_paper.paper_gap IS 'The paper''s, as printed';
COMMENT ON COLUMN vs_paper.wg_low IS 'Lower end of our 95 % interval of wg';
COMMENT ON COLUMN vs_paper.wg_high IS 'Upper end of it';
COMMENT ON COLUMN vs_paper.why IS 'Why the numbers differ: within our intervals, a known reason, or not known';

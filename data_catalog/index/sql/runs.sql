CREATE VIEW runs AS
SELECT
    r.run_id, r.started, r.finished, r.status, r.command, r.request, r.host, r.pid,
    count(d.cell) FILTER (d.outcome IN ('computed', 'adopted', 'reproduced', 'drifted')) AS computed,
    count(d.cell) FILTER (d.outcome = 'up to date') AS up_to_date,
    count(d.cell) FILTER (d.outcome IN ('failed', 'blocked')) AS failed,
    count(d.cell) FILTER (d.outcome = 'not applicable') AS not_applicable
FROM store.runs r LEFT JOIN store.decisions d ON d.run_id = r.run_id
GROUP BY ALL;
COMMENT ON VIEW runs IS 'One row for each run or import.';
COMMENT ON COLUMN runs.run_id IS 'Number of the run';
COMMENT ON COLUMN runs.started IS 'When it began';
COMMENT ON COLUMN runs.finished IS 'When it ended; empty while it is under way or when it was killed';
COMMENT ON COLUMN runs.status IS 'done, failed (some cells), stopped (by an error or Ctrl-C), or unfinished (under way or killed)';
COMMENT ON COLUMN runs.command IS 'run or import';
COMMENT ON COLUMN runs.request IS 'What was asked for';
COMMENT ON COLUMN runs.host IS 'Machine';
COMMENT ON COLUMN runs.pid IS 'Process';
COMMENT ON COLUMN runs.computed IS 'Cells computed';
COMMENT ON COLUMN runs.up_to_date IS 'Cells that needed nothing';
COMMENT ON COLUMN runs.failed IS 'Cells that failed, or could not run because an input failed';
COMMENT ON COLUMN runs.not_applicable IS 'Cells that the run found not applicable to their dataset';

CREATE VIEW paper AS
SELECT source, dataset, backbone, method, variant, wg, avg, gap, seconds, comparable, note FROM store.paper;
COMMENT ON VIEW paper IS 'The numbers of the paper as printed, misprints included.';
COMMENT ON COLUMN paper.source IS 'Table or figure of the paper';
COMMENT ON COLUMN paper.dataset IS 'Name of the dataset';
COMMENT ON COLUMN paper.backbone IS 'Name of the vision-language model';
COMMENT ON COLUMN paper.method IS 'Name of the method';
COMMENT ON COLUMN paper.variant IS 'What differs from the main setting; empty for the main setting';
COMMENT ON COLUMN paper.wg IS 'Worst-group accuracy in percent, as printed';
COMMENT ON COLUMN paper.avg IS 'Average accuracy in percent, as printed';
COMMENT ON COLUMN paper.gap IS 'Gap as printed';
COMMENT ON COLUMN paper.seconds IS 'Time in seconds, in the efficiency table';
COMMENT ON COLUMN paper.comparable IS 'Whether the number rests on the checkpoint, split and average that its row claims';
COMMENT ON COLUMN paper.note IS 'Known misprint, or why the number cannot be compared; empty for none';

CREATE VIEW lineage AS
SELECT l.key, c.cell, l.role, l.parent_key, p.cell AS parent_cell, l.parent_content
FROM store.lineage l
LEFT JOIN store.artifacts c ON c.key = l.key
LEFT JOIN store.artifacts p ON p.key = l.parent_key;
COMMENT ON VIEW lineage IS 'One row for each input of each artifact.';
COMMENT ON COLUMN lineage.key IS 'The artifact';
COMMENT ON COLUMN lineage.cell IS 'Its readable name';
COMMENT ON COLUMN lineage.role IS 'What the input is to it';
COMMENT ON COLUMN lineage.parent_key IS 'The input artifact';
COMMENT ON COLUMN lineage.parent_cell IS 'Readable name of the input; empty when it has been collected as garbage';
COMMENT ON COLUMN lineage.parent_content IS 'Content digest with which the input entered the key';

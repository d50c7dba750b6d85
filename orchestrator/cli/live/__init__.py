"""The live view of a run on a terminal: a table, a pane for questions, keys."""

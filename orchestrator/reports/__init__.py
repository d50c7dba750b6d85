"""Reports made from the journal: the events of a run in words, in JSON and in figures. They use the same events as the
engine."""

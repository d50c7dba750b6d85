"""Readers of the journal: what happened, in words, in JSON, in figures. They fold the same events as the engine."""

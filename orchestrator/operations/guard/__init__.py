"""Guarding a failed site: the loop, and the records of the journal about it."""

"""Guarding a failed site: the loop, and what the journal says about it."""

"""Readings of pairs: readiness for a move, present state, last readings."""

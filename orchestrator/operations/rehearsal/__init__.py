"""Drills, and what is learnt of a pair for a simulated copy of it."""

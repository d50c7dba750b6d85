"""Pairs that are checked, watched and guarded from a terminal."""

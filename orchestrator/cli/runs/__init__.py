"""Runs led, stopped, answered and verified from a terminal."""

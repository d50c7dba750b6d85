"""Checks, watches and guards pairs from a terminal."""

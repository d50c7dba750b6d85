"""Watching a pair until an operator stops it: rounds of readings, samples, and the suspension of replication."""

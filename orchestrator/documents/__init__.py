"""Documents in, findings out: the only readers of YAML, and the lint of what was read."""

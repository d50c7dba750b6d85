"""The adapter of the simulated AMPS instances."""

"""The simulated runs of families in files: how they are drawn, and their true state."""

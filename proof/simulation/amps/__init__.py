"""The simulated runs of AMPS instances: how they are drawn, and their true state."""

"""The simulated sites: their world, the in-process adapter that reaches it, and its lab on real ports."""

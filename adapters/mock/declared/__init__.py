"""The simulated sites of families that files declare."""

"""The simulated sites: worlds, faults, the account of loss, and the lab on real ports. Never imports the engine."""

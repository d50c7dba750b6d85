"""The simulated sites: worlds, faults, the account of loss, and the lab on real ports. It never imports the engine."""

"""The simulated sites: their world, the adapter that reaches it in-process, and the lab that serves it on real ports."""

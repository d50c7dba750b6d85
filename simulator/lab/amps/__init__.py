"""The administration interface of simulated AMPS instances on real ports."""

"""The simulated runs of AMPS instances: what is drawn of them, and what is true of them."""

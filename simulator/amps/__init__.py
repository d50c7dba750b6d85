"""A simulated fabric of AMPS instances: the same kind of world as for message VPNs, with other rules."""

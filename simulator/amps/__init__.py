"""A simulated fabric of AMPS instances: the same kind of world as that of the message VPNs, by other rules."""

"""The simulated runs of Solace message VPNs: what is drawn of them, and what is true of them."""

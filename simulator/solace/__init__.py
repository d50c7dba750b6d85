"""The simulated world of message VPNs: two sites, their nodes, clients and transactions."""

"""The simulated runs of Solace message VPNs: how they are drawn, and their true state."""

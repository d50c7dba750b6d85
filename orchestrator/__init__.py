"""The vendor-neutral half of failover: a pure core that decides, and a thin shell that performs and records."""

"""A small SSH server for simulated devices."""

"""SEMP of a simulated broker."""

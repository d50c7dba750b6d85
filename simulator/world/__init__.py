"""The common parts of all simulated worlds: time, file, faults, numbers."""

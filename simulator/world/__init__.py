"""What every simulated world has in common: time, file, faults, numbers."""

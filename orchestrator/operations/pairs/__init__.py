"""What is read of pairs: could they be moved now, how they stand, what was read last."""

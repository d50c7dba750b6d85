"""What an administrator sees of a simulated AMPS instance."""

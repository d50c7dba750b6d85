"""The administration interface of a simulated AMPS instance."""

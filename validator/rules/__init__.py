"""The rules beyond the nine checks."""

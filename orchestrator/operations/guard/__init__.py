"""What is guarded, for each family."""

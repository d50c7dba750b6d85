"""The commands. Each parses its options and calls an operation."""

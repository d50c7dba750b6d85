"""The output on a terminal."""

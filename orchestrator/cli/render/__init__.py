"""What is seen on a terminal."""

"""Takes and compares exports of sites from a terminal."""

"""Measures other tools and this program at the same work."""

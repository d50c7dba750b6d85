"""Other people's tools and this one, at the same work."""

"""A node's CLI behind a real SSH server."""

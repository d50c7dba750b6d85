"""Reads documents and returns findings. Only this package reads YAML; it also lints the documents."""

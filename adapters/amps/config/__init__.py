"""The configuration of an AMPS instance: its model, and the reader of its files."""

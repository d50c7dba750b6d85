"""The judge: every promise, checked from events and the world's account as plain data. Imports nothing it judges."""

"""Orders a change across instances that are restarted one at a time."""

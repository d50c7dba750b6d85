"""One step after the other, each on disk before the next one starts."""

"""Steps in sequence, each on disk before the next step starts."""

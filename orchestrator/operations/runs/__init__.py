"""Plans of runs, and what people are asked to agree to."""

"""A simulated pair of any family that a file declares: a world of facets."""

"""A simulated pair of a family that a file declares: a world of facets."""

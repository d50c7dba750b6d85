"""A simulated copy of a pair of appliances, for rehearsals."""

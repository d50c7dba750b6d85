"""Runs rehearsals, simulations and the lab from a terminal."""

"""Rehearsals, simulation and the lab, from a terminal."""

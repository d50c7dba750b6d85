"""Exports of sites, taken and compared from a terminal."""

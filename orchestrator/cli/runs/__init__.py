"""Leads, stops, answers and verifies runs from a terminal."""

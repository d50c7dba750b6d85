"""Simulation by seed: a story is drawn, played over the real engine in virtual time, and judged by the promises."""

"""Plays runs of the engine on the simulated world, and judges them by the promises. Imported only by the command line."""

"""Plans of runs, their approval, and the commands that lead, follow and change a run."""

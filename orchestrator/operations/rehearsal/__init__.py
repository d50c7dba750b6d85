"""Rehearsals on a simulated copy of a pair: drills, the runs before the command, and the debriefing."""

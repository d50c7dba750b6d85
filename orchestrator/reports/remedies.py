"""A remedy in the words of the place where a person reads it: at a question, and after the end of a run.

The remedy of a step that can stop a run half-way ends with the command that continues the run, or that ends it. At a
question the same is a choice, and after the end the command names the run.
"""

from __future__ import annotations

RESUME = "run `failover resume`"
_ABORT = "`failover abort --leave"


def at_question(remedy: str) -> str:
    """The remedy at the question whether the failed step is tried again."""
    return remedy.replace(RESUME, "choose `retry`")


def rolled_back(remedy: str) -> str:
    """The remedy of a failure after which the run was rolled back. Empty if it is only about a run that continues."""
    left = remedy.removesuffix(f", then {RESUME}")
    return "" if resumes(left) else left


def after_end(remedy: str, run: str) -> str:
    """The remedy after the run has stopped and can be resumed."""
    return remedy.replace(RESUME, f"run `failover resume {run}`").replace(_ABORT, f"`failover abort {run} --leave")


def resumes(remedy: str) -> bool:
    """Does the remedy itself say how the run continues or ends?"""
    return RESUME in remedy or _ABORT in remedy

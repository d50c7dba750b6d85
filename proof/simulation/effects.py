"""The effects in a simulated run besides the faults of its world, as texts that are counted.

Each text has the form ``<what>: <of which>``. A drawn thing without effect is not counted: a field of a reading that was
not taken, a lag during which nothing changed, a person who was not asked.
"""

from __future__ import annotations

from collections.abc import Sequence

LEFT_OUT = "field missing from a reading"
OLDER = "outdated reading"
AT_THE_DESK = "answered at the terminal"
FROM_ELSEWHERE = "answered from elsewhere"
DECIDED = "decided from elsewhere"
ANOTHER_CLOCK = "resumed under another clock"
SLOW = "slow device"
QUIRK = "lost by an adapter"
SAID_OF_THE_PLAN = "plan approved or denied"
FURTHER = "one more run"
MEANWHILE = "meanwhile"
STALE = "arrived too late to count"
EFFECTS = (
    *(LEFT_OUT, OLDER, AT_THE_DESK, FROM_ELSEWHERE, DECIDED, ANOTHER_CLOCK),
    *(SLOW, QUIRK, SAID_OF_THE_PLAN, FURTHER, MEANWHILE, STALE),
)


def left_out(reading: str, field: str) -> str:
    """A field that the device knew, and did not report."""
    return f"{LEFT_OUT}: {field} of {reading}"


def shown_older(reading: str) -> str:
    """A value that is no longer true."""
    return f"{OLDER}: {reading}"


def answered(where: str, choice: str, offered: Sequence[str], *, is_late: bool = False) -> str:
    """An answer of a person to an open question: an offered choice or another one, at once or late."""
    return (
        f"{where}: {'what was offered' if choice in offered else 'what was not offered'}{', late' if is_late else ''}"
    )


def decided(choice: str) -> str:
    """An answer from elsewhere that was taken."""
    return f"{DECIDED}: {choice}"


def led_on(before: float, now: float) -> str:
    """A process continues a run with another clock than the process before it. ``before`` and ``now``: both clocks at one
    moment."""
    return f"{ANOTHER_CLOCK}: {'ahead' if now > before else 'behind'}"


def kind_of(effect: str) -> str:
    """The kind of an effect, one of ``EFFECTS``."""
    return effect.partition(":")[0]

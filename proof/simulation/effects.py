"""What takes effect in a simulated run besides the faults of its world, in words that are counted.

Each is a text, ``<what>: <of which>``. What is drawn and met nothing is not counted: a field of a reading that no one
took, a lag during which nothing changed, a person who was not asked.
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
    """An answer of a person to an open question: rightly or wrongly, at once or after a while."""
    return (
        f"{where}: {'what was offered' if choice in offered else 'what was not offered'}{', late' if is_late else ''}"
    )


def decided(choice: str) -> str:
    """An answer from elsewhere that was taken."""
    return f"{DECIDED}: {choice}"


def led_on(before: float, now: float) -> str:
    """A run that a process leads on whose clock differs from that of the one before it; both as they show one moment."""
    return f"{ANOTHER_CLOCK}: {'ahead' if now > before else 'behind'}"


def kind_of(effect: str) -> str:
    """One of ``EFFECTS``."""
    return effect.partition(":")[0]

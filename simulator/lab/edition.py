"""What is not the same on every appliance, or is not known of any: gathered here, so that no layout decides it alone.

Each value names its source. Where there is none it is an assumption, and says so; a reader of the CLI that depends on
an assumption is wrong, which is what the other values of a field are for in tests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from simulator.lab.pace import PROMPT, Pace
from simulator.solace.appliance import PlatformView, RedundancyView, VpnReplication

# The words after ``show`` and the lines to print, to the lines that are printed instead.
Printing = Callable[[Sequence[str], Sequence[str]], Sequence[str]]


def _same_name(name: str) -> str:
    return name


def _same_row(row: VpnReplication) -> VpnReplication:
    return row


def _same_node(node: RedundancyView) -> RedundancyView:
    return node


def _same_platform(platform: PlatformView) -> PlatformView:
    return platform


@dataclass(frozen=True, slots=True)
class Views:
    """How a node differs in what it reports of itself, over the CLI and over SEMP alike.

    ``router``: the name in its prompt, and that of its mates. ``asks_spool``: without the active spool it refuses to show
    a queue; the plain lab shows an empty one.
    """

    router: Callable[[str], str] = _same_name
    row: Callable[[VpnReplication], VpnReplication] = _same_row
    node: Callable[[RedundancyView], RedundancyView] = _same_node
    platform: Callable[[PlatformView], PlatformView] = _same_platform
    asks_spool: bool = False


@dataclass(frozen=True, slots=True)
class Edition:
    """How one version of the appliance speaks."""

    version: str
    # docs/sources/solace-procedure.md, controlled 1, shows the table with A C B R Q S M T; uncontrolled 4.5 adds a W
    # that its own legend does not explain.
    replication_letters: str
    # Groups of one dash in the rule under these letters; the procedure has nine of them under eight letters.
    replication_rule: int
    # Newer legends give "-=N/A" for A, C and M as well.
    legend_says_not_applicable: bool
    # Newer versions tell in `show redundancy` whether the group is up and which role the node has (sample, 10.25).
    redundancy_tells_status: bool
    # Long tables repeat header and rule, paging off or on (docs/sources/solace.md, 3.1). Assumption: after this many
    # rows.
    header_every: int = 20
    # Commands that ask before they act (docs/sources/solace.md, 3.1). Assumption: completing a transaction is not
    # among them.
    asks: frozenset[str] = frozenset({"service msg-backbone shutdown"})
    # Assumption: the answer to a question is a line. "key" acts on the first key; an Enter is then an empty line.
    question_takes: Literal["line", "key"] = "line"
    # Assumption: a `show` of one unknown name is refused. False: an empty table, as in SEMP v1
    # (docs/sources/solace.md, 2.4).
    is_unknown_name_refused: bool = True
    # Assumption: only the words "invalid command" are known (docs/sources/solace.md, 3.1), the layout of the message
    # is not.
    invalid: str = "Invalid command input"
    # Assumption: no source tells what a session with too low a level is answered.
    forbidden: str = "Error: access level is too low for this command"
    # The word between "Solace PubSub+" and "Version": of software its edition (docs/sources/solace-cli.md, 1).
    product: str = "Appliance"
    views: Views = Views()
    prints: tuple[Printing, ...] = ()
    pace: Pace = PROMPT

    @property
    def banner(self) -> str:
        """What a login is greeted with: the shape of the captured one, the licence lines our own."""
        return (
            f"\nSolace PubSub+ {self.product} Version {self.version}\n"
            "\n"
            "This is a SIMULATED appliance. It holds no real messages, belongs to\n"
            "nobody, and is licensed to everybody who wants to rehearse.\n"
            "\n"
            "Operating Mode: Message Routing Node\n"
            "\n"
        )

    def printed(self, words: Sequence[str], lines: Sequence[str]) -> Sequence[str]:
        """What is printed in place of ``lines``, the answer to ``show`` and these words."""
        for change in self.prints:
            lines = change(words, lines)
        return lines

    def asking_also(self, *commands: str) -> Edition:
        """The same, with more commands that ask first."""
        return replace(self, asks=self.asks | set(commands))


SEED = Edition(
    version="7.2.1.51",  # assumption: the procedure names no version
    replication_letters="ACBRQSMT",
    replication_rule=9,
    legend_says_not_applicable=False,
    redundancy_tells_status=False,
)
SEED_WITH_W = replace(SEED, replication_letters="ACWBRQSMT")
NEWER = Edition(
    version="10.25.0.217",  # the captured login
    replication_letters="ACBRQSMT",
    replication_rule=8,
    legend_says_not_applicable=True,
    redundancy_tells_status=True,
)
EDITIONS = {"seed": SEED, "seed-with-w": SEED_WITH_W, "newer": NEWER}

"""All values that differ between appliances or are unknown. They are collected here, so that no layout decides them
itself.

Each value names its source, or is marked as an assumption. A reader of the CLI must not depend on an assumption. Tests
check this with the other values of a field.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from simulator.lab.pace import PROMPT, Pace
from simulator.solace.appliance import PlatformView, RedundancyView, VpnReplication

# From the words after ``show`` and the lines to print, to the lines that are printed instead.
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
    """The differences in a node's reports about itself, over the CLI and over SEMP.

    ``router``: changes the name in its prompt, and those of its mates. ``asks_spool``: without the active spool the node
    refuses to show a queue. The plain lab shows an empty queue.
    """

    router: Callable[[str], str] = _same_name
    row: Callable[[VpnReplication], VpnReplication] = _same_row
    node: Callable[[RedundancyView], RedundancyView] = _same_node
    platform: Callable[[PlatformView], PlatformView] = _same_platform
    asks_spool: bool = False


@dataclass(frozen=True, slots=True)
class Edition:
    """The outputs of one version of the appliance."""

    version: str
    # docs/sources/solace-procedure.md, controlled 1, shows the table with A C B R Q S M T. Uncontrolled 4.5 adds a W
    # that is not in its legend.
    replication_letters: str
    # The number of single dashes in the rule under these letters. The procedure has nine dashes under eight letters.
    replication_rule: int
    # Newer legends give "-=N/A" for A, C and M as well.
    legend_says_not_applicable: bool
    # In newer versions `show redundancy` shows whether the group is up, and the role of the node (sample, 10.25).
    redundancy_tells_status: bool
    # Long tables repeat header and rule, with or without paging (docs/sources/solace.md, 3.1). Assumption: after this
    # many rows.
    header_every: int = 20
    # Commands that ask before they act (docs/sources/solace.md, 3.1). Assumption: the commands that complete a
    # transaction do not ask.
    asks: frozenset[str] = frozenset({"service msg-backbone shutdown"})
    # Assumption: the answer to a question is a line. With "key" the first key is the answer, and an Enter after it is an
    # empty line.
    question_takes: Literal["line", "key"] = "line"
    # Assumption: a `show` of a single unknown name is refused. False: an empty table, as in SEMP v1
    # (docs/sources/solace.md, 2.4).
    is_unknown_name_refused: bool = True
    # Assumption: the layout of the message. Only the words "invalid command" are known (docs/sources/solace.md, 3.1).
    invalid: str = "Invalid command input"
    # Assumption: the answer to a session with a too low level is not documented.
    forbidden: str = "Error: access level is too low for this command"
    # The word between "Solace PubSub+" and "Version". A software broker has its edition there
    # (docs/sources/solace-cli.md, 1).
    product: str = "Appliance"
    views: Views = Views()
    prints: tuple[Printing, ...] = ()
    pace: Pace = PROMPT

    @property
    def banner(self) -> str:
        """The greeting of a login. Its form is that of the captured login. The licence lines are our own."""
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
        """The lines that are printed instead of ``lines``, the answer to ``show`` and these words."""
        for change in self.prints:
            lines = change(words, lines)
        return lines

    def asking_also(self, *commands: str) -> Edition:
        """The same edition, with more commands that ask before they act."""
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

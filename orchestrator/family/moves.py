"""What a family adds to the commands that move services: options of its own, and which of its runbooks is meant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from orchestrator.model.other_manager import MANAGER_GATE, MANAGER_OPTION
from orchestrator.model.runbook import Choice
from orchestrator.model.transactions import TransactionDecisions

Kind = Literal["controlled", "uncontrolled", "restore", "failback"]
# What was typed, by flag. An option that takes no value is ``yes``.
Given = Mapping[str, str]
YES = "yes"


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveOption:
    """An option of a command that moves services. ``metavar``: what its value is; empty: it takes none.

    What it means, beside the runbook that it may choose (``Offering.runbook_for``): ``answers``: gates that it answers
    in advance, its text is the recorded reason. ``chooses``: the gate whose answer is its value. ``decides``: the gate on
    items whose decisions it brings: ``ask``, ``stop``, ``revert`` or a file, which is of ``decisions``. ``accepts``: the
    gates that ``--reason`` answers once this option is given, in place of the fence of the failed site, which is then
    reached and read.
    ``values``: all that it may be, the usual one first; ``loses``: the one of them that says that the site came back
    without its data. ``needs``: the option without which it means nothing.
    """

    flag: str
    help: str
    metavar: str = ""
    answers: Mapping[str, Choice] = field(default_factory=dict)
    chooses: str = ""
    decides: str = ""
    decisions: type[TransactionDecisions] = TransactionDecisions
    accepts: Mapping[str, Choice] = field(default_factory=dict)
    values: tuple[str, ...] = ()
    loses: str = ""
    needs: str = ""


# What a family in a file offers where it shows whether another manager may act; known before any file is read.
ACCEPT_MANAGER = MoveOption(
    flag=MANAGER_OPTION,
    help="Why it is moved though another manager (Patroni, Sentinel, …) may act, and who decided it; recorded.",
    metavar="TEXT",
    answers={MANAGER_GATE: "accept"},
)

"""What a family adds to the commands that move services: its own options, and the choice of its runbook."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from orchestrator.model.other_manager import MANAGER_GATE, MANAGER_OPTION
from orchestrator.model.runbook import Choice
from orchestrator.model.transactions import TransactionDecisions

Kind = Literal["controlled", "uncontrolled", "restore", "failback"]
# The typed options, by flag. An option without a value has the value ``yes``.
Given = Mapping[str, str]
YES = "yes"


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveOption:
    """An option of a command that moves services. ``metavar``: the kind of its value; empty: it takes no value.

    Its meaning, beside the runbook that it may choose (``Offering.runbook_for``):

    - ``answers``: gates that it answers in advance; its text is the recorded reason.
    - ``chooses``: the gate whose answer is its value.
    - ``decides``: the gate on items whose decisions it contains: ``ask``, ``stop``, ``revert`` or a file of type
      ``decisions``.
    - ``accepts``: the gates that ``--reason`` answers once this option is given. ``--reason`` then does not
      answer for the fence of the failed site, because that site is reached and read.
    - ``values``: all its possible values, the usual one first. ``loses``: the value which says that the site came back
      without its data.
    - ``needs``: another option, without which this one has no meaning.
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


# The option of a family in a file that shows whether another manager may act. It is known before any file is read.
ACCEPT_MANAGER = MoveOption(
    flag=MANAGER_OPTION,
    help="Why the service moves although another manager (Patroni, Sentinel, …) may act, and who decided so; recorded.",
    metavar="TEXT",
    answers={MANAGER_GATE: "accept"},
)

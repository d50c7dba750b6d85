"""The options that message VPNs add to the commands that move them, and the choice of the runbook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adapters.solace.offers.decisions import XaDecisions
from orchestrator.family.moves import Given, Kind, MoveOption
from orchestrator.model.inventory import Site

ISOLATED = "--isolated"
_XA = MoveOption(
    flag="--xa",
    metavar="ask|stop|revert|FILE",
    help="Prepared transactions: the decisions in FILE; for transactions without a decision: ask, stop, or revert"
    " (default: ask on a terminal, else revert).",
    decides="xa",
    decisions=XaDecisions,
)
_ON_BRIDGE_LOSS = MoveOption(
    flag="--on-bridge-loss",
    metavar="wait|revert|escalate",
    help="What to do if the bridge is lost (unattended: revert).",
    chooses="bridge-lost",
)
_ACCEPT_SYNC = MoveOption(
    flag="--accept-sync",
    metavar="TEXT",
    help="Why the run may continue if a site does not report sync eligibility.",
    answers={"sync-untold": "accept"},
)
_OPTIONS: Mapping[Kind, Sequence[MoveOption]] = {
    "controlled": (_XA, _ON_BRIDGE_LOSS),
    "uncontrolled": (
        MoveOption(
            flag=ISOLATED,
            help="The site's management still answers: fence and demote the site first.",
            accepts={"leave-behind": "accept"},
        ),
    ),
    "restore": (
        MoveOption(
            flag="--spool",
            metavar="kept|lost",
            help="Whether the site came back with its message spool; recorded.",
            values=("kept", "lost"),
            loses="lost",
        ),
        _ACCEPT_SYNC,
        _XA,
    ),
    "failback": (_ACCEPT_SYNC, _XA, _ON_BRIDGE_LOSS),
}


def options(kind: Kind) -> Sequence[MoveOption]:
    """See ``Offering.options``."""
    return _OPTIONS[kind]


def runbook_for(kind: Kind, site: Site, given: Given) -> str:
    """See ``Offering.runbook_for``.

    The backbone of a failed site that does not answer cannot be reached, so the next entry of its fence plan counts. If
    that entry is a command, it is run and proven first, except when a person has answered for the fence already. A
    fence that a command closed is opened by the undo of that command.
    """
    if kind == "uncontrolled" and ISOLATED in given:
        return "uncontrolled-isolated"
    if kind == "uncontrolled":
        reachable = [option for option in site.fence if option.kind in ("command", "attest")]
        is_answered = "--attest" in given or "--reason" in given
        is_commanded = bool(reachable) and reachable[0].kind == "command" and not is_answered
        return "uncontrolled-commanded" if is_commanded else "uncontrolled"
    if kind == "restore" and site.fenced_by("command") is not None:
        return "restore-commanded"
    return kind

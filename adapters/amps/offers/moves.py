"""The options that AMPS adds to the commands that move clients, and the choice of the runbook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orchestrator.family.moves import Given, Kind, MoveOption
from orchestrator.model.inventory import Site

BOOTSTRAP = "--bootstrap"
_ON_LINK_LOSS = MoveOption(
    flag="--on-bridge-loss",
    metavar="wait|revert|escalate",
    help="What to do if the link is lost (unattended: revert).",
    chooses="link-lost",
)
_OPTIONS: Mapping[Kind, Sequence[MoveOption]] = {
    "controlled": (_ON_LINK_LOSS,),
    "uncontrolled": (
        MoveOption(
            flag="--accept-loss",
            metavar="TEXT",
            help="For an async link: why messages may be lost.",
            answers={"data-loss": "accept"},
        ),
    ),
    "restore": (
        MoveOption(flag=BOOTSTRAP, help="The instance lost its data, so it fetches its state from its mate."),
        MoveOption(
            flag="--attest",
            metavar="TEXT",
            help="Who checked the data that the instance comes back with; recorded.",
            answers={"stale-tail": "accept", "bootstrap": "attest"},
        ),
        MoveOption(
            flag="--accept-sow",
            metavar="TEXT",
            help="With --bootstrap: why the instance returns although SOW records differ.",
            answers={"sow-incomplete": "accept"},
            needs=BOOTSTRAP,
        ),
    ),
    "failback": (_ON_LINK_LOSS,),
}
_APART = frozenset({"controlled", "uncontrolled", "failback"})


def options(kind: Kind) -> Sequence[MoveOption]:
    """See ``Offering.options``."""
    return _OPTIONS[kind]


def runbook_for(kind: Kind, site: Site, given: Given) -> str:
    """See ``Offering.runbook_for``. Some procedures differ across an async link. A link that the inventory does not
    declare counts as async, so that a person is asked before messages are given up."""
    if kind == "restore":
        return "restore-bootstrap" if BOOTSTRAP in given else kind
    is_sync = any(part.options.get("link") == "sync" for part in site.parts)
    return kind if is_sync or kind not in _APART else f"{kind}-async"

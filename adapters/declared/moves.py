"""The options that every declared family has on the commands that move services: answers to the questions that its
runbooks may ask by these names. The runbook says which of them it asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orchestrator.family.moves import ACCEPT_MANAGER, Kind, MoveOption

_ON_LINK_LOSS = MoveOption(
    flag="--on-bridge-loss",
    metavar="wait|revert|escalate",
    help="What to do if the link is lost (unattended: revert).",
    chooses="link-lost",
)
_ACCEPT_LOSS = MoveOption(
    flag="--accept-loss",
    metavar="TEXT",
    help="Why data that only the failed site has may be dropped.",
    answers={"data-loss": "accept"},
)
OPTIONS: Mapping[Kind, Sequence[MoveOption]] = {
    "controlled": (_ON_LINK_LOSS, ACCEPT_MANAGER),
    "uncontrolled": (ACCEPT_MANAGER,),
    "restore": (_ACCEPT_LOSS, ACCEPT_MANAGER),
    "failback": (_ON_LINK_LOSS, ACCEPT_MANAGER),
}

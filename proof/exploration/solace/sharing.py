"""What two message VPNs of one pair of sites share: the network, the devices, their doors. Must never know which run
they are of."""

from __future__ import annotations

from typing import NamedTuple

from orchestrator.model.runbook import Side
from proof.exploration.family import SOURCE, TARGET
from proof.exploration.solace.pair import Dark, Door, Pair


class Around(NamedTuple):
    """What of a pair is not one message VPN's own. ``active``: another one is active at the source. ``relies``: another
    one relies on the source's doors being shut."""

    link: bool
    dark: tuple[Dark, Dark]
    door: tuple[Door, Door]
    outside: tuple[bool, bool]
    serving: tuple[bool, bool]
    active: bool
    relies: bool


class Sharing:
    """See ``proof.exploration.family.Sharing``."""

    def around(self, pair: Pair) -> Around:
        """What ``pair`` has around its own message VPN."""
        others, relies = pair.others, pair.neighbour != "none"
        return Around(pair.link, pair.dark, pair.door, pair.outside, pair.serving, others, relies)

    def shows(self, pair: Pair, *, relies: bool) -> Around:
        """What another message VPN has around it beside this one."""
        return self.around(pair)._replace(active=pair.active[SOURCE], relies=relies)

    def beside(self, pair: Pair, around: Around) -> Pair:
        """``pair`` with this around it."""
        return pair._replace(
            link=around.link,
            dark=around.dark,
            door=around.door,
            outside=around.outside,
            serving=around.serving,
            others=around.active,
            neighbour="relies" if around.relies else "none",
        )

    def relied_on(self, pair: Pair) -> tuple[tuple[Side, str], ...]:
        """It has failed over behind what is shut at the source."""
        if not pair.active[TARGET]:
            return ()
        shut = {"set_backbone": pair.door[SOURCE] == "shut", "set_external_fence": pair.outside[SOURCE]}
        return tuple(("source", thing) for thing, is_shut in shut.items() if is_shut)

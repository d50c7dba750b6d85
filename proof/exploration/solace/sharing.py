"""The parts that two message VPNs of one pair of sites share: the network, the devices, their doors. This module must
never know the runs of the VPNs."""

from __future__ import annotations

from typing import NamedTuple

from orchestrator.model.runbook import Side
from proof.exploration.family import SOURCE, TARGET
from proof.exploration.solace.pair import Dark, Door, Pair


class Around(NamedTuple):
    """The part of a pair that does not belong to one message VPN alone. ``active``: another message VPN is active at the
    source. ``relies``: another message VPN relies on the source's shut doors."""

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
        """The shared part of ``pair``."""
        others, relies = pair.others, pair.neighbour != "none"
        return Around(pair.link, pair.dark, pair.door, pair.outside, pair.serving, others, relies)

    def shows(self, pair: Pair, *, relies: bool) -> Around:
        """The shared part as another message VPN sees it beside this one."""
        return self.around(pair)._replace(active=pair.active[SOURCE], relies=relies)

    def beside(self, pair: Pair, around: Around) -> Pair:
        """``pair`` with ``around`` as its shared part."""
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
        """The shut doors of the source behind which the message VPN has failed over."""
        if not pair.active[TARGET]:
            return ()
        shut = {"set_backbone": pair.door[SOURCE] == "shut", "set_external_fence": pair.outside[SOURCE]}
        return tuple(("source", thing) for thing, is_shut in shut.items() if is_shut)

"""Makes scripted faults happen in a simulated pair of a declared family: matches requests to triggers and applies the
effects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from simulator.generic.faults import FAULTS, Fault, HandFault, LinkFault, ManagerFault, SiteFault, StateFault
from simulator.world.fault_lines import AnswerFault, When
from simulator.world.fault_script import FaultScript

if TYPE_CHECKING:
    from simulator.generic.world import GenericWorld


@dataclass(frozen=True, slots=True)
class Asked:
    """A request to a site. ``what``: the reading or the action."""

    kind: Literal["login", "read", "act"]
    site: str
    what: str = ""

    @property
    def phases(self) -> tuple[str, ...]:
        """The triggers of faults that this request matches."""
        return {"login": ("any",), "read": ("any", "reads"), "act": ("any", "act")}[self.kind]


class FaultInjector(FaultScript[StateFault, Asked]):
    """The faults of one pair, and which of them have happened."""

    def __init__(self, world: GenericWorld) -> None:
        super().__init__(world, FAULTS, "the simulated site refuses the request")
        self._world = world

    def _misnamed(self, fault: Fault, given: Sequence[Fault]) -> str:
        layout, what = self._world.layout, fault.what
        about = () if fault.when.about is None else (fault.when.about,)
        known = (*layout.sites, *layout.actions) if fault.when.phase == "act" else layout.sites
        sites = (what.site,) if isinstance(what, SiteFault | ManagerFault | HandFault) else ()
        stranger = next((name for name in about if name not in known), None)
        stranger = stranger or next((name for name in sites if name not in layout.sites), None)
        if stranger is not None:
            return f"there is no {stranger}; the pair has {', '.join(layout.sites)}"
        if isinstance(what, HandFault) and what.action not in layout.actions:
            return f"there is no action {what.action}; the family has {', '.join(layout.actions)}"
        if isinstance(what, ManagerFault) and what.name and what.name not in layout.managers:
            return f"no reading shows a manager {what.name}; the family has {', '.join(layout.managers) or 'none'}"
        return ""

    def _can_go_wrong(self, what: AnswerFault, asked: Asked) -> bool:
        return what.kind == "wrong password" or asked.kind != "login"

    def _trigger(self, when: When, asked: Asked) -> str | None:
        fits = when.phase in asked.phases and when.about in (None, asked.site, asked.what)
        return asked.site if fits else None

    def _disturb(self, what: StateFault, about: str | None) -> None:
        match what:
            case LinkFault():
                self._world.disturb_link(what.factor, what.lasts)
            case SiteFault(kind="silent", site=site):
                self._world.silence(site, what.lasts)
            case ManagerFault(site=site, name=name, hidden=hidden):
                self._world.manage(site, name, what.lasts, hidden=hidden)
            case SiteFault(kind=kind, site=site):
                self._world.turn(site, up=kind == "up", lasts=what.lasts)
            case HandFault(action=action, site=site, by=by):
                if by == "manager" and not (self._world.is_managed(site) and self._world.state.nodes[site].up):
                    return  # the manager or its node is gone
                for service in self._world.layout.services:
                    self._world.act(site, service.name, action, {}, by=by)

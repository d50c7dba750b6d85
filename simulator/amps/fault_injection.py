"""Makes scripted faults happen in a fabric: matches requests to triggers and applies the effects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from simulator.amps.faults import FAULTS, Fault, HandFault, InstanceFault, LinkFault, StateFault, instances_of
from simulator.amps.rest import FOR_EVER
from simulator.world.fault_lines import AnswerFault, When
from simulator.world.fault_script import FaultScript

if TYPE_CHECKING:
    from simulator.amps.world import AmpsWorld

_PHASES: Mapping[str, str] = {
    "enable_proxied_transfer": "proxy",
    "disable_proxied_transfer": "unproxy",
    **{verb: verb for verb in ("enable", "disable", "downgrade", "upgrade")},
}


@dataclass(frozen=True, slots=True)
class Asked:
    """A request to an instance. ``verb``: the action; empty for a reading."""

    kind: Literal["look", "action"]
    instance: str
    verb: str = ""

    @property
    def phases(self) -> frozenset[str]:
        """The triggers of faults that this request matches."""
        if self.kind == "look":
            return frozenset({"any", "reads"})
        return frozenset({"any", "act", _PHASES.get(self.verb, "act")})


class FaultInjector(FaultScript[StateFault, Asked]):
    """The faults of one fabric, and which of them have happened."""

    def __init__(self, world: AmpsWorld) -> None:
        super().__init__(world, FAULTS, "the request is refused by the simulated instance")
        self._world = world

    def _misnamed(self, fault: Fault, given: Sequence[Fault]) -> str:
        known = self._world.layout.names
        stranger = next((name for name in instances_of(fault) if name not in known), None)
        return f"there is no instance {stranger}; the fabric has {', '.join(known)}" if stranger is not None else ""

    def _can_go_wrong(self, what: AnswerFault, asked: Asked) -> bool:
        return True  # every request checks the account and can be refused

    def _trigger(self, when: When, asked: Asked) -> str | None:
        """The name of the instance if ``asked`` is the trigger, else None."""
        return asked.instance if when.phase in asked.phases and when.about in (None, asked.instance) else None

    def _disturb(self, what: StateFault, about: str | None) -> None:
        state, now = self._world.fabric.state, self._world.fabric.now
        if isinstance(what, HandFault):
            if state.instances[what.instance].phase != "down":
                self._world.console(what.instance).obey_somebody(what.verb)
            return
        until = FOR_EVER if what.lasts is None else now + what.lasts
        match what:
            case LinkFault(kind="down"):
                state.cuts["|".join(sorted((what.one, what.other)))] = until
            case LinkFault():
                state.slow["|".join(sorted((what.one, what.other)))] = (until, what.factor)
            case InstanceFault(kind="silent"):
                state.instances[what.instance].silent_until = until
            case InstanceFault(kind="stale"):
                state.instances[what.instance].stale_until = until
            case InstanceFault(kind=kind):
                self._world.plan(now, kind, [what.instance, what.files])
                if kind == "kill" and what.lasts is not None:
                    self._world.plan(until, "start", [what.instance, what.files])

"""What makes scripted faults of a fabric happen: matches what is asked of an instance with the faults it was given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from adapters.mock.amps.faults import Fault, HandFault, InstanceFault, LinkFault, StateFault, parse_amps_fault
from adapters.mock.appliance import Refused
from adapters.mock.faults import AnswerFault
from orchestrator.errors import DefinitionError

if TYPE_CHECKING:
    from adapters.mock.amps.world import AmpsWorld

# For ever, in the world's file: a moment that no world reaches.
_EVER = 1e15
_PHASES: Mapping[str, str] = {
    "enable_proxied_transfer": "proxy",
    "disable_proxied_transfer": "unproxy",
    **{verb: verb for verb in ("enable", "disable", "downgrade", "upgrade")},
}


@dataclass(frozen=True, slots=True)
class Asked:
    """Something asked of an instance. ``verb``: of an action; empty for a look."""

    kind: Literal["look", "action"]
    instance: str
    verb: str = ""

    @property
    def phases(self) -> frozenset[str]:
        """What a fault may wait for that this is."""
        if self.kind == "look":
            return frozenset({"any", "reads"})
        return frozenset({"any", "act", _PHASES.get(self.verb, "act")})


@dataclass(slots=True)
class _Armed:
    fault: Fault
    given_at: float
    fired_at: float | None = None
    struck: bool = False


class Mischief:
    """The faults of one fabric, and which of them have happened."""

    def __init__(self, world: AmpsWorld) -> None:
        self._world = world
        self._armed: list[_Armed] = []

    def give(self, faults: Iterable[Fault]) -> None:
        """Arm faults. Raises ``DefinitionError`` when one names what the fabric does not have."""
        given = list(faults)
        for fault in given:
            for name in fault.instances:
                if name not in self._world.layout.names:
                    known = ", ".join(self._world.layout.names)
                    raise DefinitionError(f"{fault.text!r}: there is no instance {name}; the fabric has {known}")
        now = self._world.moment
        for fault in given:
            self._armed.append(_Armed(fault, now))
            if fault.when.phase == "at":
                self._plan(len(self._armed) - 1)

    def notice(self, asked: Asked) -> None:
        """Set off the state faults that wait for ``asked``; raises ``Refused`` for a fault that refuses it."""
        refused = False
        for index, armed in enumerate(self._armed):
            what = armed.fault.what
            if isinstance(what, AnswerFault):
                refused = (what.kind == "refuse" and self._hits(armed, what, asked)) or refused
            elif armed.fired_at is None and self._fits(armed, asked):
                armed.fired_at = self._world.moment
                self._plan(index)
        if refused:
            raise Refused("the request is refused by the simulated instance")

    def answer(self, asked: Asked) -> AnswerFault | None:
        """What goes wrong with the answer to ``asked``; a refusal is not of the answer but of the instance."""
        for armed in self._armed:
            what = armed.fault.what
            if isinstance(what, AnswerFault) and what.kind != "refuse" and self._hits(armed, what, asked):
                return what
        return None

    def strike(self, index: int) -> None:
        """A state fault happens now."""
        armed = self._armed[index]
        what = armed.fault.what
        if armed.struck or isinstance(what, AnswerFault):
            return
        armed.struck, armed.fired_at = True, self._world.moment
        self._do(what)

    def _do(self, what: StateFault) -> None:
        state, now = self._world.fabric.state, self._world.fabric.now
        if isinstance(what, HandFault):
            if state.instances[what.instance].phase != "down":
                self._world.console(what.instance).obey_somebody(what.verb)
            return
        until = _EVER if what.lasts is None else now + what.lasts
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

    def _plan(self, index: int) -> None:
        armed = self._armed[index]
        self._world.plan(self._world.moment + armed.fault.when.after, "fault", [index])

    def _fits(self, armed: _Armed, asked: Asked) -> bool:
        when = armed.fault.when
        return when.phase in asked.phases and when.instance in (None, asked.instance)

    def _hits(self, armed: _Armed, what: AnswerFault, asked: Asked) -> bool:
        """Does a fault of an answer hit this one? It hits once, or for as long as it lasts."""
        if not self._fits(armed, asked):
            return False
        now = self._world.moment
        if armed.fired_at is None:
            armed.fired_at = now
            return True
        return what.lasts is not None and now < armed.fired_at + what.lasts

    def dump(self) -> list[list[Any]]:
        """Plain data for the world's file."""
        return [[one.fault.text, one.given_at, one.fired_at, one.struck] for one in self._armed]

    def restore(self, data: Sequence[Sequence[Any]]) -> None:
        """Take over what ``dump`` wrote. Raises ``DefinitionError``, TypeError or ValueError when it was not."""
        self._armed = [
            _Armed(parse_amps_fault(str(text)), float(given), None if fired is None else float(fired), bool(struck))
            for text, given, fired, struck in data
        ]

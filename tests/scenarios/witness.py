"""Stands between fleet and adapter, and writes down what the world was like whenever a change was about to leave.

It looks at the world itself, never at what anybody reads or records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from adapters.mock.world import World
from orchestrator import events as ev
from orchestrator.contract import Adapter, Call, Failure, Permit, Result
from orchestrator.readings import Reading


@dataclass(frozen=True, slots=True)
class Noted:
    """One change about to leave for ``site``, and the world at that moment. ``depth`` is of the plan's source."""

    moment: float
    site: str
    action: str
    service: str
    args: Mapping[str, str]
    depth: int
    roles: Mapping[str, str]
    serves: Mapping[str, bool]
    transactions: Mapping[str, Mapping[str, str]]  # site, xid: state


class Witness:
    """An adapter of ``site``, watched."""

    def __init__(self, inner: Adapter, world: World, site: str, plan: ev.Plan, notes: list[Noted]) -> None:
        self._inner = inner
        self._world = world
        self._site = site
        self._plan = plan
        self._notes = notes
        self.readings = inner.readings
        self.actions = inner.actions
        self.simulated = inner.simulated

    def open(self) -> None:
        self._inner.open()

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        return self._inner.probe(reading, services)

    def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        for call in calls:
            self._notes.append(self._look(action, call))
        yield from self._inner.apply(action, calls, permit)

    def close(self) -> None:
        self._inner.close()

    def _look(self, action: str, call: Call) -> Noted:
        with self._world.request():
            vpn = self._world.vpn(call.service)
            return Noted(
                moment=self._world.now(),
                site=self._site,
                action=action,
                service=call.service,
                args=dict(call.args),
                depth=vpn.sides[self._plan.source].queue.count,
                roles={name: side.role for name, side in vpn.sides.items()},
                serves={name: centre.serves for name, centre in self._world.centres.items()},
                transactions={
                    name: {xid: held.state for xid, held in side.transactions.items()}
                    for name, side in vpn.sides.items()
                },
            )

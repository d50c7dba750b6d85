"""The operator's own command, simulated. It may be run twice, and only the command itself knows its effect.

It ends as ``adapters/local`` describes such commands. Exit code 0 means done. Another exit code means refused. The
outcome of a command that was cut short is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from adapters.mock.adapter import MockAdapter
from orchestrator.clock import Clock
from orchestrator.family.contract import ActionSpec, AdapterContext, ArgumentSpec, Call, Permit, Result
from orchestrator.model.inventory import Site
from orchestrator.model.outcome import Effect
from proof.simulation.story import CommandEnd, OwnCommand

ACTION = "ensure"


class OwnCommands:
    """The operator's commands that were done, in order, with site and service. The first runs end as drawn."""

    def __init__(self, how: OwnCommand) -> None:
        self.done: list[tuple[str, str, str]] = []
        self._ends = list(how.ends)

    def run(self, site: str, service: str, command: str) -> CommandEnd:
        """Runs a command once."""
        end = self._ends.pop(0) if self._ends else CommandEnd()
        if end.after is not None:
            self.done.append((site, service, command))
        return end

    def effects(self, service: str) -> list[list[Any]]:
        """The commands as the judge sees them: the command in effect at each site, if any."""
        last = {site: command for site, one, command in self.done if one == service}
        return [[site, ACTION, {"command": command}, 1] for site, command in last.items()]


class OwnAdapter(MockAdapter):
    """The simulated appliances of a site, and the operator's own commands."""

    actions: ClassVar[Mapping[str, ActionSpec]] = {
        **MockAdapter.actions,
        ACTION: ActionSpec(
            ACTION,
            "Run a command of the operator's own that may be run twice",
            idempotent=True,
            commands=lambda call: [call.args["command"]],
            arguments={"command": ArgumentSpec()},
        ),
    }

    def __init__(self, site: Site, context: AdapterContext, own: OwnCommands) -> None:
        super().__init__(site, context)
        self._own = own
        self._name = site.name
        self._clock: Clock = context.clock

    def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        """See ``contract.Adapter``."""
        if action != ACTION:
            return super().apply(action, calls, permit)
        return (self._run(call, permit) for call in calls)

    def _run(self, call: Call, permit: Permit) -> Result:
        permit.check()
        end = self._own.run(self._name, call.service, call.args["command"])
        self._clock.sleep(end.lasts)
        return Result(call, Effect(end.effect), detail="as it ended", sent=(call.args["command"],))

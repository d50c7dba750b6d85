"""``failover watch`` on the screen: shows the result of each round, and the end of the watch."""

from __future__ import annotations

from pathlib import Path

from orchestrator.cli.pairs.store_samples import SampleStore
from orchestrator.cli.render.terminal import say, say_error, show, show_json
from orchestrator.cli.runs.lead import lead_new
from orchestrator.cli.runs.signals import until_stopped
from orchestrator.clock import Clock, iso
from orchestrator.model import events as ev
from orchestrator.model.inventory import Inventory
from orchestrator.operations.pairs.status_facets import figures_of, row_words
from orchestrator.operations.runs.lead import Request
from orchestrator.operations.runtime import Tools
from orchestrator.operations.watch.request import (
    PositionRead,
    Suspending,
    SuspensionEnded,
    TargetRead,
    WatchEvent,
    WatchRequest,
    WatchResult,
)
from orchestrator.operations.watch.watch import watch_of


def watch_pair(
    tools: Tools, inventory: Inventory, request: WatchRequest, readings: Path | None, *, as_json: bool
) -> int:
    """Follow the services until an operator stops the watch. ``readings`` is the folder for all readings. Returns the
    exit code: 0, or the exit code of the run of the last suspension."""
    screen = _Screen(tools.clock, simulated=tools.is_simulated(inventory), as_json=as_json)

    def lead(plan: ev.Plan) -> int:
        return lead_new(tools, Request(plan), as_json=as_json)

    samples = SampleStore(tools, inventory, readings, "watch")
    watch = watch_of(tools, inventory, request, keeper=samples, lead=lead, listener=screen.take)
    with until_stopped():
        watch.run()
    return screen.end(watch.result())


class _Screen:
    """The output of one watch, for an operator or a machine."""

    def __init__(self, clock: Clock, *, simulated: bool, as_json: bool) -> None:
        self._clock, self._simulated, self._as_json = clock, simulated, as_json
        self._marker = "SIMULATED  " if simulated else ""

    def take(self, event: WatchEvent) -> None:
        """Show one event of the watch."""
        if isinstance(event, TargetRead):
            self._target(event)
        elif isinstance(event, PositionRead):
            self._position(event)
        elif isinstance(event, Suspending):
            say(f"{self._marker}{event.service}: {event.reason}: replication is being suspended")
        elif not isinstance(event, SuspensionEnded):
            say_error(str(event.error), hint=event.error.hint)
        elif self._as_json:
            what = "suspended" if event.is_done else "not-suspended"
            show_json({**self._head(event.at, event.service), "site": event.site, "happened": [what]})

    def end(self, result: WatchResult) -> int:
        """Show how the watch ended. Returns the exit code."""
        if result.interrupted is not None:
            sentence, hint = result.interrupted
            say_error(sentence, hint=hint)
        if self._as_json:
            site = {} if result.site is None else {"site": result.site}
            body = {"simulated": self._simulated, **site, "services": result.services, "exit_code": result.exit_code}
            show_json({"result": body})
        else:
            say(f"{self._marker}{result.text}")
        return result.exit_code

    def _target(self, event: TargetRead) -> None:
        if self._as_json:
            show_json({**self._head(event.at, event.service), "site": event.site, **event.row.figures})
            return
        for line in event.row.lines:
            at = iso(self._clock.now())[11:19]
            alarm = "! " if line.is_alarm else ""
            show(f"{at}Z {self._marker}{event.service} at {event.site}: {alarm}{line.text}")

    def _position(self, event: PositionRead) -> None:
        if self._as_json:
            ends = {one.site: figures_of(one) for one in event.ends}
            show_json({**self._head(event.at, event.service), "verdict": event.position.word, "sites": ends})
            return
        ends_in_words = "; ".join(row_words(one) for one in event.ends)
        alarm = "! " if event.is_alarm else ""
        at = iso(event.at)[11:19]
        show(f"{at}Z {self._marker}{event.service}: {alarm}{event.position.word}: {ends_in_words}")

    def _head(self, at: float, service: str) -> dict[str, object]:
        return {"at": iso(at), "simulated": self._simulated, "service": service}

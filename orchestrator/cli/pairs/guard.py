"""``failover guard`` on the screen: asks once, shows the reports of the guard, and shows how it ended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import typer

from orchestrator.characters import typed
from orchestrator.cli.render.terminal import agrees, is_attended, say, say_error, show, show_json
from orchestrator.cli.runs.lead import lead_again, lead_new
from orchestrator.cli.runs.signals import until_stopped
from orchestrator.clock import iso
from orchestrator.core.run import Run
from orchestrator.errors import DefinitionError
from orchestrator.journal.journal import Journal
from orchestrator.model import events as ev
from orchestrator.model.inventory import Inventory
from orchestrator.operations.guard.guard import Guard, guard_of
from orchestrator.operations.guard.request import GuardFailed, GuardReport, GuardRequest, GuardResult
from orchestrator.operations.runs.lead import Request
from orchestrator.operations.runtime import Tools

_REFUSED = 3


def guard_site(tools: Tools, inventory: Inventory, request: GuardRequest, *, yes: bool, as_json: bool) -> int:
    """Guard the site until it is safe, or until an operator stops the guard. Returns the exit code."""
    simulated = tools.is_simulated(inventory)
    screen = _Screen(request.site, simulated=simulated, as_json=as_json)

    def lead(plan: ev.Plan) -> int:
        return lead_new(tools, Request(plan), as_json=as_json)

    def again(journal: Journal, name: str, run: Run) -> int:
        return lead_again(tools, journal, name, run, as_json=as_json)

    with ExitStack() as stack:
        guard = guard_of(tools, request, stack, lead=lead, again=again, listener=screen.take)
        with until_stopped():
            guard.validate()
            if not yes:
                screen.confirm(guard.describe())
            guard.run()
    return screen.end(guard)


class _Screen:
    """The output of one guard, for an operator or a machine."""

    def __init__(self, site: str, *, simulated: bool, as_json: bool) -> None:
        self._site, self._simulated, self._as_json = site, simulated, as_json
        self._marker = "SIMULATED  " if simulated else ""

    def confirm(self, what: str) -> None:
        """Ask the operator to confirm. Raises ``typer.Exit`` if the operator does not agree."""
        if not is_attended() or self._as_json:
            raise DefinitionError(
                "no terminal: cannot ask for confirmation", hint="add --yes to start without asking"
            )
        say(f"{self._marker}{what}")
        if not agrees(f"{self._marker}Guard {self._site} now?"):
            say("not started; nothing was changed")
            raise typer.Exit(_REFUSED)

    def take(self, event: GuardReport | GuardFailed) -> None:
        """Show one report of the guard."""
        if isinstance(event, GuardFailed):
            say_error(str(event.error), hint=event.error.hint)
            return
        at = iso(event.at)
        if self._as_json:
            head = {"at": at, "simulated": self._simulated, "site": self._site}
            show_json({**head, "state": event.state, "message": event.text})
        else:
            show(f"{at[11:19]}Z {self._marker}{self._site}: {event.text}")

    def end(self, guard: Guard) -> int:
        """Show how the guard ended, and the next action. Returns the exit code."""
        result = guard.result()
        if self._as_json:
            body = {"simulated": self._simulated, "site": self._site, "message": result.text}
            body["alarms"] = [result.alarm] if result.alarm else []
            show_json({"result": {**body, "exit_code": result.exit_code}})
            return result.exit_code
        for text in (result.alarm, result.text):
            if text:
                show(f"{self._marker}{text}")
        for line in self._next(guard, result):
            show(line)
        return result.exit_code

    def _next(self, guard: Guard, result: GuardResult) -> Iterator[str]:
        if result.is_degraded:
            yield f"  what to do: keep the clients of {self._site} away by other means, then run `failover restore`"
        elif result.exit_code:
            yield "  what to do: see `failover runs show`; `failover guard` resumes the run"
        elif result.ending == "safe":
            which = " ".join(map(typed, guard.to_restore())) or "--all"
            yield f"  what to do: when {self._site} can serve again, run `failover restore {which} --site {self._site}`"

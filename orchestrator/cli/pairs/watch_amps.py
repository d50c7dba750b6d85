"""Follows both instances of AMPS services: links, what the mate may lack, and the room for journals while it is away.

Nothing is changed, and nothing could be suspended: AMPS keeps journals until every destination has acknowledged them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace

from orchestrator.cli.pairs.store_samples import SampleStore
from orchestrator.cli.render.terminal import say, show, show_json
from orchestrator.clock import iso
from orchestrator.core.fill_estimate import crossing
from orchestrator.family.contract import Adapter
from orchestrator.family.reachability import REACHABILITY, probe
from orchestrator.model.inventory import Inventory, Pair
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from orchestrator.model.readings import Reachability
from orchestrator.operations.read_only_sessions import reading_only
from orchestrator.operations.runtime import Tools
from orchestrator.reports.outlook_amps import HAPPENED, AmpsLook, AmpsOutlook, figures_of, outlook_amps

READINGS = ("transports", "clients", "links", "queues", "transaction_log")
_ALARMS = frozenset({"silent", "cut", "downgraded", "high"})
Answers = Mapping[str, Mapping[str, Reading | Failure]]


@dataclass(slots=True)
class Followed:
    """One service at one site: what was said of it last."""

    answered: bool | None = None
    connected: bool | None = None
    downgraded: bool | None = None
    cut_at: float | None = None
    is_high: bool = False
    state: str = ""
    advised: str = ""

    def take(self, look: AmpsLook, now: float) -> list[str]:
        """One more look; what happened since the last one. What is unknown changes nothing."""
        happened: list[str] = []
        answers = not look.silence
        if self.answered is not None and answers is not self.answered:
            happened.append("answers" if answers else "silent")
        self.answered = answers
        links = look.links
        if links is not None and links.connected is not None:
            if self.connected is not None and links.connected is not self.connected:
                happened.append("connected" if links.connected else "cut")
            self.connected = links.connected
            self.cut_at = None if links.connected else (now if self.cut_at is None else self.cut_at)
        if links is not None and links.downgraded is not None:
            if self.downgraded is not None and links.downgraded is not self.downgraded:
                happened.append("downgraded" if links.downgraded else "upgraded")
            self.downgraded = links.downgraded
        crossed = crossing(self.is_high, look.percent_full)
        if crossed is not None:
            self.is_high = crossed == "high"
            happened.append(crossed)
        return happened


class InstanceWatcher:
    """One watch of AMPS services, from its beginning to Ctrl-C. ``sites``: which of the pair's are followed."""

    def __init__(
        self,
        tools: Tools,
        inventory: Inventory,
        pair: Pair,
        services: Sequence[str],
        sites: Sequence[str],
        interval_s: float,
        samples: SampleStore,
        *,
        as_json: bool,
    ) -> None:
        self._tools, self._inventory, self._pair, self._services = tools, inventory, pair, services
        self._sites, self._interval_s, self._samples, self._as_json = sites, interval_s, samples, as_json
        self._simulated = tools.is_simulated(inventory)
        self._followed = {(service, site): Followed() for service in services for site in sites}
        self._figures: dict[str, dict[str, object]] = {}

    def go_on(self) -> None:
        """Read, say, wait; for ever."""
        with ExitStack() as stack, ThreadPoolExecutor(len(self._sites)) as pool:
            adapters = {
                site: stack.enter_context(reading_only(self._tools, self._inventory.sites[site]))
                for site in self._sites
            }
            while True:
                now = self._tools.clock.now()
                asked = {site: pool.submit(_read, adapter, self._services) for site, adapter in adapters.items()}
                seen = {site: found.result() for site, found in asked.items()}
                for site, answers in seen.items():
                    mate = self._pair.mate_of(site)
                    self._samples.keep(site, answers, self._services, now, simulated=self._simulated, mate=mate)
                for service in self._services:
                    for site in self._sites:
                        self._one(service, site, seen[site], now)
                self._tools.clock.sleep(self._interval_s)

    def end(self) -> int:
        """Say how it ended; the exit code."""
        if self._as_json:
            show_json({"result": {"simulated": self._simulated, "services": self._figures, "exit_code": 0}})
        else:
            say(f"{'SIMULATED  ' if self._simulated else ''}stopped; nobody watches the instances any more")
        return 0

    def _one(self, service: str, site: str, answers: Answers, now: float) -> None:
        one = self._followed[(service, site)]
        look = _look(answers, service)
        was_silent = one.answered is False
        happened = one.take(look, now)
        cut_s = None if one.cut_at is None else now - one.cut_at
        look = replace(look, cut_s=cut_s)
        told = outlook_amps(look, service=service, mate=self._pair.mate_of(site))
        figures = {"state": told.state, **figures_of(look), "advice": told.advice}
        self._figures.setdefault(service, {})[site] = figures
        if self._as_json:
            head = {"at": iso(now), "simulated": self._simulated, "service": service, "site": site}
            show_json({**head, **figures, "happened": happened})
            return
        if told.state != one.state:
            one.state, one.advised = told.state, ""
        self._tell(service, site, told, happened, is_news=not (was_silent and told.state == "silent"))
        one.advised = told.advice or one.advised

    def _tell(self, service: str, site: str, told: AmpsOutlook, happened: Sequence[str], *, is_news: bool) -> None:
        """An instance that goes on not answering is said once."""
        if is_news:
            self._show(service, site, told.sentence)
        for event in happened:
            self._show(service, site, HAPPENED[event], alarm=event in _ALARMS)
        if told.advice and told.advice != self._followed[(service, site)].advised:
            self._show(service, site, f"what to do: {told.advice}", alarm=True)

    def _show(self, service: str, site: str, text: str, *, alarm: bool = False) -> None:
        marker = "SIMULATED  " if self._simulated else ""
        show(f"{iso(self._tools.clock.now())[11:19]}Z {marker}{service} at {site}: {'! ' if alarm else ''}{text}")


def _read(adapter: Adapter, services: Sequence[str]) -> Answers:
    reached = probe(adapter, REACHABILITY, services)
    if not any(isinstance(one, Reachability) and one.answers for one in reached.values()):
        silence = {
            service: Failure(
                kind="Unreachable", text=one.why if isinstance(one, Reachability) else "it does not answer"
            )
            for service, one in reached.items()
        }
        return {REACHABILITY: reached, **dict.fromkeys(READINGS, silence)}
    return {REACHABILITY: reached, **{name: probe(adapter, name, services) for name in READINGS}}


def _look(answers: Answers, service: str) -> AmpsLook:
    reached = answers[REACHABILITY][service]
    if isinstance(reached, Reachability) and not reached.answers:
        return AmpsLook(silence=reached.why)
    return AmpsLook.of({name: answers[name][service] for name in READINGS})

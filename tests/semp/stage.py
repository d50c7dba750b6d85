"""Sites over SEMP on virtual time: a scripted broker whose answers a test sets, and the simulated world behind its lab.

Nothing here opens a socket; ``tests/semp/test_semp_server.py`` does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from adapters.solace.semp.adapter import SolaceSempAdapter
from orchestrator.clock import VirtualClock
from orchestrator.family.contract import AdapterContext
from orchestrator.model.inventory import Device, Login, SecretRef, Site
from simulator.http.server import Incoming, Outgoing
from simulator.lab.cli.plans import Level
from simulator.lab.command_log import CommandLog
from simulator.lab.edition import NEWER, Edition
from simulator.lab.of_world import FaultyAppliance
from simulator.lab.semp.accounts import Sessions
from simulator.lab.semp.semp import SempNode
from simulator.solace.faults import parse_faults
from simulator.solace.layout import SiteLayout, VpnLayout, WorldLayout
from simulator.solace.world import World
from tests.seam import told
from tests.semp import v1_replies
from tests.semp.wire import Wire

PASSWORD, TOKEN = "s3cret/pass", "t0ken"
MONITOR = "/SEMP/v2/monitor/"
Body = dict[str, Any]
Answer = Outgoing | Body | str
Reply = Answer | Callable[[Incoming], Answer]


class Secrets:
    """Hands out what the lab knows; counts nothing, tells nobody."""

    def reveal(self, reference: object, *, what: str) -> str:
        return TOKEN if "token" in what else PASSWORD


def ok(data: object = None, collections: object = None, **meta: object) -> Body:
    """A reply that succeeded."""
    body: Body = {"meta": {"request": {"method": "GET"}, "responseCode": 200, **meta}}
    if data is not None:
        body["data"] = data
    if collections is not None:
        body["collections"] = collections
    return body


def no(status: int, code: int, name: str = "FAIL", text: str = "no") -> Outgoing:
    """A reply that says no."""
    error = {"code": code, "description": text, "status": name}
    return Outgoing(
        status, json.dumps({"meta": {"error": error, "request": {"method": "GET"}, "responseCode": status}}).encode()
    )


@dataclass
class Broker:
    """Answers by ``METHOD path`` (the query is left out) or by the whole request line; v1 by the words of its body.

    Without an answer of its own it is a node that stands alone, serves, and lets anybody do anything.
    """

    answers: dict[str, Reply] = field(default_factory=dict)
    heard: list[Incoming] = field(default_factory=list)

    def __call__(self, request: Incoming) -> Outgoing:
        self.heard.append(request)
        answer = self._answer(request)
        if callable(answer):
            answer = answer(request)
        if isinstance(answer, str):
            return Outgoing(200, answer.encode(), "application/xml")
        return answer if isinstance(answer, Outgoing) else Outgoing(200, json.dumps(answer).encode())

    def _answer(self, request: Incoming) -> Reply:
        known = {**_DEFAULTS, **self.answers}
        if request.target == "/SEMP":
            body = request.body.decode()
            return known.get(body, v1_replies.failed("no such reply here"))
        path = request.target.partition("?")[0]
        for key in (f"{request.method} {request.target}", f"{request.method} {path}"):
            if key in known:
                return known[key]
        return no(400, 6, "NOT_FOUND", f"nothing at {path}")

    def count(self, words: str) -> int:
        """How many requests had these words in their line or body."""
        return sum(words in f"{one.method} {one.target} {one.body.decode()}" for one in self.heard)


_DEFAULTS: Mapping[str, Reply] = {
    v1_replies.SHOW_REDUNDANCY: v1_replies.STANDALONE,
    v1_replies.SHOW_SPOOL: v1_replies.spool("AD-Active"),
    f"GET {MONITOR}about/api": ok({"platform": "VMR", "sempVersion": "2.46"}),
    f"GET {MONITOR}about/user": ok({"globalAccessLevel": "admin"}),
    f"GET {MONITOR}msgVpns/a": ok({"msgVpnName": "a"}, {}),
    "PUT /SEMP/v2/action/about/user/logout": ok(),
}


def adapter_of(
    *wires: Wire, read_only: bool = False, options: Mapping[str, Any] | None = None, **site: Any
) -> SolaceSempAdapter:
    """The adapter of a site ``ny`` whose devices are called ny1, ny2, …"""
    devices = tuple(Device(name=f"ny{number}", address="127.0.0.1", port=8080) for number in range(1, len(wires) + 1))
    described = Site(
        name="ny",
        adapter="solace-semp",
        devices=devices,
        login=Login(username="operator", password=SecretRef(env="NY_PASSWORD")),
        options={"scheme": "http", **(options or {})},
        **site,
    )
    by_name = {device.name: wire for device, wire in zip(devices, wires, strict=True)}
    setting = AdapterContext(clock=wires[0].clock, secrets=Secrets(), read_only=read_only)
    return SolaceSempAdapter(described, setting, wire=lambda device: by_name[device.name], random=Random(1))


@dataclass
class Scripted(Wire):
    """A wire to a scripted broker."""

    handler: Broker


def scripted(answers: Mapping[str, Reply] | None = None, clock: VirtualClock | None = None) -> Scripted:
    """A wire to a broker that answers so, on a clock of its own or on a pair's."""
    return Scripted(Broker(dict(answers or {})), clock or VirtualClock())


SITES = (SiteLayout("ny", ("NY_Appliance1",)), SiteLayout("nj", ("NJ_Appliance1",)))
PAIRS = (
    SiteLayout("ny", ("NY_Appliance1", "NY_Appliance2")),
    SiteLayout("nj", ("NJ_Appliance1", "NJ_Appliance2")),
)


class Semp:
    """A world served over SEMP in process: a wire and a log for each node, an adapter for each site."""

    def __init__(
        self,
        *vpns: VpnLayout,
        ha: bool = False,
        faults: Iterable[str] = (),
        world: World | None = None,
        level: Level = "admin",
        sessions_max: int = 10,
        edition: Edition = NEWER,
    ) -> None:
        self.edition = edition
        layout = WorldLayout(sites=PAIRS if ha else SITES, vpns=vpns or (VpnLayout("V", backlog=60),))
        self.world = world or World(layout, VirtualClock())
        self.clock = told(VirtualClock, self.world.clock)
        self.world.inject(parse_faults(faults))
        self.wires: dict[str, Wire] = {}
        self.logs: dict[str, CommandLog] = {}
        self.sessions: dict[str, Sessions] = {}
        for site, centre in self.world.centres.items():
            for node in centre.nodes:
                self._serve(site, node, level, sessions_max)

    def _serve(self, site: str, node: str, level: Level, sessions_max: int) -> None:
        log = CommandLog(self.clock)
        sessions = Sessions(
            "operator", PASSWORD, TOKEN, approves=lambda: self._approves(site), sessions_max=sessions_max
        )
        served = SempNode(
            FaultyAppliance(self.world, site, node, self.edition.views),
            log,
            sessions,
            clock=self.clock,
            level=level,
            edition=self.edition,
            scheme="http",
            hold=self.world.request,
        )
        wire = Wire(served, self.clock, reaches=lambda: self.world.reachable(site, node))
        self.wires[node], self.logs[node], self.sessions[node] = wire, log, sessions

    def _approves(self, site: str) -> bool:
        from simulator.solace.fault_injection import Seen

        with self.world.request():
            fault = self.world.answer_fault(Seen("login", site))
            self.world.notice(Seen("login", site))
        return fault is None

    def site(self, name: str, **more: Any) -> Site:
        """The site as an inventory has it."""
        devices = tuple(
            Device(name=node, address="127.0.0.1", port=8080, router_name=node)
            for node in self.world.centre(name).nodes
        )
        return Site(
            name=name,
            adapter="solace-semp",
            devices=devices,
            login=Login(username="operator", password=SecretRef(env="PASSWORD")),
            options={"scheme": "http", **more},
        )

    def adapter(self, site: str = "ny", *, read_only: bool = False, **more: Any) -> SolaceSempAdapter:
        setting = AdapterContext(self.clock, Secrets(), read_only=read_only)
        return self.of(self.site(site, **more), setting)

    def of(self, site: Site, setting: AdapterContext) -> SolaceSempAdapter:
        """The adapter of a described site, on these wires."""
        return SolaceSempAdapter(site, setting, wire=lambda device: self.wires[device.name], random=Random(1))

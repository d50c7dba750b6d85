"""Two scripted AMPS instances that replicate to each other.

Time is virtual. What happens on its own is a list of moments and deeds, done before the next request is answered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from adapters.amps.adapter import AmpsAdminAdapter
from orchestrator.clock import VirtualClock
from orchestrator.family.contract import AdapterContext
from orchestrator.model.inventory import Device, Inventory, Login, Pair, SecretRef, Site
from simulator.http.server import Incoming, Outgoing
from tests.amps_admin.instance import ScriptedInstance
from tests.amps_admin.leading import SERVICE, Leading
from tests.amps_admin.stage import Secrets
from tests.amps_admin.truth import Truth
from tests.semp.wire import Wire

NAMES = {"ny": "amps-1", "nj": "amps-2"}
Deed = Callable[["AmpsPair"], None]


@dataclass
class AmpsPair(Leading):
    """``ny`` serves at first. ``sync``: how both links are configured; ``is_open``: does nj let clients in already?"""

    folder: Path
    sync: str = "sync"
    is_open: bool = True
    clock: VirtualClock = field(default_factory=lambda: VirtualClock(1_735_689_600.0))
    later: list[tuple[float, Deed]] = field(default_factory=list)
    heard: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        other = {"ny": "nj", "nj": "ny"}
        self.instances = {
            site: ScriptedInstance(self.clock, name, NAMES[other[site]], sync=self.sync)
            for site, name in NAMES.items()
        }
        self.away: set[str] = set()
        self.wires = {site: Wire(self._handler(site), self.clock, reaches=self._reaches(site)) for site in NAMES}
        self.nj.one("queues")["owned"] = "0"
        self.nj.now["clients"] = []
        if not self.is_open:
            self.nj.one("transports")["is_enabled"] = "0"
        for one in self.instances.values():
            one.resample()
        self.truth = Truth(SERVICE, self.instances, self.away)

    @property
    def ny(self) -> ScriptedInstance:
        return self.instances["ny"]

    @property
    def nj(self) -> ScriptedInstance:
        return self.instances["nj"]

    def at(self, seconds: float, deed: Deed) -> None:
        """Let ``deed`` be done so many seconds from now."""
        self.later.append((self.clock.now() + seconds, deed))

    def link(self, site: str, **changes: str) -> None:
        """Change the link out of ``site``."""
        self.instances[site].one("replication").update(changes)

    def lose(self, site: str) -> None:
        """The instance of ``site`` is dead: nobody answers, and its mate's link to it breaks."""
        self.away.add(site)
        self.link("nj" if site == "ny" else "ny", is_connected="0")

    def start(self, site: str, *, empty: bool = False, bootstrap: bool = False) -> None:
        """It is started again, its client transports disabled; nothing is connected yet."""
        one = self.instances[site]
        self.away.discard(site)
        one.one("transports")["is_enabled"] = "0"
        one.one("replication").update(is_connected="0", replication_type=self.sync)
        one.now["clients"] = []
        if empty:
            one.now["transaction_log"] = {"journals": [{"file_name": "a", "max_timestamp": ""}]}
        if bootstrap:
            one.more = (
                "<Bootstrap><Topic><Name>.*</Name><MessageType>json</MessageType></Topic><DataType>sow,txlog</DataType>"
                f"<Transport><InetAddr>{one.mate}:9004</InetAddr><Type>amps-replication</Type></Transport></Bootstrap>"
            )
        one.resample()

    def connect(self) -> None:
        """Both links are connected, and nothing is behind."""
        for site in NAMES:
            self.link(site, is_connected="1", seconds_behind="0")

    def state(self, site: str) -> tuple[bool, str, str]:
        """Does it let clients in, how does its link acknowledge, is proxied transfer on? As it is, not as it shows."""
        one = self.instances[site]
        return (
            one.one("transports")["is_enabled"] == "1",
            one.one("replication")["replication_type"],
            one.one("queues")["proxied_transfer"],
        )

    def _reaches(self, site: str) -> Callable[[], bool]:
        def reaches() -> bool:
            self.tick()
            return site not in self.away

        return reaches

    def _handler(self, site: str) -> Callable[[Incoming], Outgoing]:
        def handle(incoming: Incoming) -> Outgoing:
            if not incoming.target.startswith("/amps/administrator/") or "authorization" in incoming.target:
                return self.instances[site].handle(incoming)
            target = incoming.target.removeprefix("/amps/administrator/")
            self.heard.append(f"{site} {target}")
            self.truth.notice("somebody", self.clock.now())
            before = self.instances[site].obeyed
            answer = self.instances[site].handle(incoming)
            if self.instances[site].obeyed > before:
                self.truth.obeyed(site, target.rpartition("/")[2], target, self.clock.now())
            return answer

        return handle

    def tick(self) -> None:
        """Do what is due."""
        now = self.clock.now()
        due = [one for one in self.later if one[0] <= now]
        self.later = [one for one in self.later if one[0] > now]
        for _, deed in due:
            deed(self)
            self.truth.notice("somebody", now)

    def look(self, *, count: bool = False) -> dict[str, Any]:
        self.tick()
        return self.truth.look(self.clock.now())

    def adapter(self, site: str, *, read_only: bool = False) -> AmpsAdminAdapter:
        """A new session with the instance of ``site``."""
        setting = AdapterContext(self.clock, Secrets(), read_only=read_only)
        return AmpsAdminAdapter(self.site(site), setting, wire=lambda device: self.wires[site], random=Random(7))

    def site(self, name: str) -> Site:
        """As the inventory has it."""
        return Site(
            name=name,
            adapter="amps-admin",
            devices=(Device(name=NAMES[name], address=f"{name}.example.com", port=8085),),
            login=Login(username="failover", password=SecretRef(env="AMPS")),
            options={"link": self.sync, "not_applications": "^monitor-", "scheme": "http", "insecure_http": True},
        )

    def inventory(self) -> Inventory:
        """The pair."""
        pair = Pair(name="trading", sites=("ny", "nj"), services=(SERVICE,))
        return Inventory(sites={name: self.site(name) for name in NAMES}, pairs=(pair,))

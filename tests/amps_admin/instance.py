"""A scripted AMPS instance: it answers as docs/sources/amps.md tells, takes a sample every interval, and obeys its
actions."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from orchestrator.clock import VirtualClock
from simulator.http.server import Incoming, Outgoing

_ACT = re.compile(r"/amps/administrator/(transports|replication|queues)/([^/]+)/(\w+)")
_WORDS: dict[str, tuple[str, str]] = {
    "enable": ("is_enabled", "1"),
    "disable": ("is_enabled", "0"),
    "upgrade": ("replication_type", "sync"),
    "downgrade": ("replication_type", "async"),
    "enable_proxied_transfer": ("proxied_transfer", "enabled"),
    "disable_proxied_transfer": ("proxied_transfer", "disabled"),
}
CONFIG = """\
<AMPSConfig>
  <Name>{name}</Name>
  <Group>{group}</Group>
  <Admin><InetAddr>8085</InetAddr><Interval>10s</Interval></Admin>
  <Transports>
    <Transport><Name>amps-tcp</Name><Type>tcp</Type><InetAddr>9007</InetAddr><Protocol>amps</Protocol></Transport>
    <Transport><Name>amps-replication</Name><Type>amps-replication</Type><InetAddr>9004</InetAddr></Transport>
  </Transports>
  <SOW><Queue><Name>JOBS</Name><MessageType>json</MessageType></Queue></SOW>
  <TransactionLog>
    <JournalDirectory>./journal</JournalDirectory><JournalSize>10MB</JournalSize>
    <Topic><Name>.*</Name><MessageType>json</MessageType></Topic>
  </TransactionLog>
  <Replication>
    <Destination>
      <Name>{mate}</Name><Group>{group}</Group><SyncType>{sync}</SyncType><PassThrough>.*</PassThrough>
      <Topic><Name>.*</Name><MessageType>json</MessageType></Topic>
      <Transport><InetAddr>{mate}:9004</InetAddr><Type>amps-replication</Type></Transport>
    </Destination>
  </Replication>
  {more}
</AMPSConfig>
"""


def _stamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y%m%dT%H%M%S.%fZ")


@dataclass
class ScriptedInstance:
    """One instance. ``now`` is how it is; what it shows was so when the last sample was taken.

    ``answers``: by target, what to answer instead. ``spoiled``: what becomes of the next action and its answer.
    """

    clock: VirtualClock
    name: str = "amps-1"
    mate: str = "amps-2"
    group: str = "NYC"
    sync: str = "sync"
    more: str = ""
    interval_s: float = 10.0
    now: dict[str, Any] = field(default_factory=dict)
    answers: dict[str, Callable[[], Outgoing]] = field(default_factory=dict)
    spoiled: str = ""
    acted: list[str] = field(default_factory=list)
    obeyed: int = 0
    frozen_at: float | None = None

    def __post_init__(self) -> None:
        client_name = f"{self.name}!{self.mate}@{self.group}!{self.sync}!amps-replication"
        self.now = {
            "name": self.name,
            "group": self.group,
            "version": "5.3.5.135",
            "uptime": "30:00:10.500000",
            "transports": [
                {"id": "1", "name": "amps-tcp", "type": "tcp", "is_enabled": "1"},
                {"id": "2", "name": "amps-replication", "type": "amps-replication", "is_enabled": "1"},
            ],
            "replication": [
                {
                    "id": "r1",
                    "name": self.mate,
                    "destination_name": self.mate,
                    "is_connected": "1",
                    "destination_group_name": self.group,
                    "client_type": "destination",
                    "seconds_behind": "0",
                    "replication_type": self.sync,
                    "client_name": client_name,
                    "messages_out": "1200",
                },
                {"id": "r2", "name": f"{self.mate}!{self.name}", "client_type": "source", "is_connected": "1"},
            ],
            "queues": [
                {
                    "id": "JOBS!json",
                    "topic": "JOBS",
                    "message_type": "json",
                    "queue_depth": "3",
                    "owned": "2",
                    "proxied_transfer": "disabled",
                }
            ],
            "clients": [
                {"id": "17", "client_name": "pub-1", "connection_name": "amps-amps-tcp-17-1"},
                {"id": "18", "client_name": f"{self.mate}!{self.name}!sync!amps-replication"},
                {"id": "19", "client_name": "monitor-7"},
            ],
            "transaction_log": {
                "journals": [
                    {"file_name": "a", "min_timestamp": "20250101T000000Z", "max_timestamp": "20250101T120000Z"},
                    {"file_name": "b", "min_timestamp": "20250101T120000Z", "max_timestamp": "20250102T000000Z"},
                    {"file_name": "z", "min_timestamp": "20241201T000000Z", "is_archived": "1"},
                ]
            },
        }
        self._shown = copy.deepcopy(self.now)
        self._sampled_at = self.clock.now()

    @property
    def config(self) -> str:
        """The file it was started with."""
        return CONFIG.format(name=self.name, group=self.group, mate=self.mate, sync=self.sync, more=self.more)

    def one(self, collection: str, number: int = 0) -> dict[str, Any]:
        """One entry of a collection, to be changed."""
        entry: dict[str, Any] = self.now[collection][number]
        return entry

    def sample(self) -> dict[str, Any]:
        """What is shown now: taken at whole intervals, unless the thread that takes it hangs."""
        due = self.clock.now() if self.frozen_at is None else self.frozen_at
        taken = self._sampled_at + ((due - self._sampled_at) // self.interval_s) * self.interval_s
        if taken > self._sampled_at:
            self._shown, self._sampled_at = copy.deepcopy(self.now), taken
        return {**self._shown, "timestamp": _stamp(self._sampled_at)}

    @property
    def sampled_at(self) -> float:
        """The moment of which it tells now."""
        self.sample()
        return self._sampled_at

    def resample(self) -> None:
        """What it is now is what it shows from now on: the next sample is a whole interval away."""
        self._shown, self._sampled_at = copy.deepcopy(self.now), self.clock.now()

    def handle(self, incoming: Incoming) -> Outgoing:
        """Answer a request; ``Wire`` carries it here."""
        special = self.answers.get(incoming.target)
        if special is not None:
            return special()
        action = _ACT.fullmatch(incoming.target)
        if action is not None:
            return self._act(incoming.target, action[1], unquote(action[2]), action[3])
        if incoming.target.startswith("/amps/administrator/authorization/"):
            return Outgoing(200, b"true")
        if incoming.target == "/amps/instance/config.xml":
            return Outgoing(200, self.config.encode())
        name = incoming.target.removeprefix("/amps/instance/").removesuffix(".json")
        shown = self.sample()
        if name not in shown:
            return Outgoing(404, b"no such node")
        return Outgoing(200, json.dumps({"amps": {"instance": {name: shown[name]}}}).encode())

    def _act(self, target: str, collection: str, id_: str, verb: str) -> Outgoing:
        spoiled, self.spoiled = self.spoiled, ""
        if spoiled == "lose request":
            return Outgoing(200, mishap="drop")
        self.acted.append(target)
        if spoiled == "refuse":
            return Outgoing(404, b"no")
        entry = next((one for one in self.now[collection] if one["id"] == id_), None)
        if entry is None:
            return Outgoing(404, b"no such id")
        self.sample()  # what was due before
        name, word = _WORDS[verb]
        entry[name] = word
        self.obeyed += 1
        if collection == "transports" and word == "0" and entry["name"] == "amps-tcp":
            self.now["clients"] = [one for one in self.now["clients"] if "amps-replication" in one["client_name"]]
        match spoiled:
            case "lose reply":
                return Outgoing(200, mishap="drop")
            case "garbage reply":
                return Outgoing(200, b"{", mishap="cut")
        return Outgoing(200, b"")


def answer(status: int, body: object = "") -> Callable[[], Outgoing]:
    """A fixed answer; an object is sent as JSON."""
    text = body if isinstance(body, str) else json.dumps(body)
    return lambda: Outgoing(status, text.encode())


def told(**nodes: object) -> dict[str, object]:
    """A document of the administration interface."""
    return {"amps": {"instance": nodes}}

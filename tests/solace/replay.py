"""Plays what ``failover check --explain`` wrote back to the adapters that it was heard from: same lines, same answers."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

import httpx

from adapters.solace.adapter import SolaceCliAdapter
from adapters.solace.semp.adapter import SolaceSempAdapter
from orchestrator import errors
from orchestrator.clock import VirtualClock
from orchestrator.errors import AdapterError, ConnectionLost, Unreachable
from orchestrator.family.contract import Adapter, AdapterContext
from orchestrator.family.reachability import probe
from orchestrator.model.inventory import Device, FenceOption, Login, SecretRef, Site
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading

Heard = Mapping[str, Any]


class RecordedTime(VirtualClock):
    """The time of what was recorded: a pause in it is in the moments that were recorded."""

    def sleep(self, seconds: float) -> None:
        """It takes no time."""


ENTER = b"\r"


def documents(folder: Path) -> list[Path]:
    """Every explanation in ``folder``."""
    return sorted(folder.glob("*.json"))


def load(file: Path) -> dict[str, Any]:
    """The content of one."""
    found: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return found


def _moment(heard: Heard) -> float:
    return datetime.fromisoformat(heard["asked_at"]).timestamp()


def _error(heard: Heard) -> AdapterError:
    kind: type[AdapterError] = getattr(errors, heard["failed"])
    assert issubclass(kind, AdapterError)
    if kind is errors.UnreadableReply:
        return errors.UnreadableReply(heard["why"], text="\n".join(heard["answer"]), device=heard["device"])
    return kind(heard["why"], device=heard["device"])


@dataclass
class Played:
    """One device: what it says next to what it is sent next, at the moment at which it did."""

    clock: VirtualClock
    left: deque[Heard]

    def next(self, sent: str) -> Heard:
        """What it says to ``sent``, which has to be what it was sent then."""
        heard = self.left.popleft()
        assert heard["sent"] == sent, f"{sent!r} is sent where {heard['sent']!r} was recorded"
        self.clock.advance_to(_moment(heard))
        self.clock.advance(heard["took_s"])
        return heard


@dataclass
class PlayedLine:
    """A terminal line to a device that is played."""

    device: Played
    prompt: str
    said: deque[bytes | AdapterError] = field(default_factory=deque)
    is_open: bool = True

    def send(self, data: bytes) -> None:
        line = data.removesuffix(ENTER).decode()
        if not line:
            self.said.append(f"\r\n{self.prompt}".encode())
            return
        heard = self.device.next(line)
        if "failed" in heard:
            self.said.append(_error(heard))
            return
        text = "\r\n".join([line, *heard["answer"], self.prompt])
        self.said.append(text.encode())

    def receive(self, within_s: float) -> bytes:
        if not self.said:
            return b""
        found = self.said.popleft()
        if isinstance(found, AdapterError):
            raise ConnectionLost(str(found), device=found.device) if isinstance(found, Unreachable) else found
        return found

    def close(self) -> None:
        self.is_open = False


def connect(device: Played) -> PlayedLine:
    """A line to it. Raises the error with which no session could be made then."""
    if not device.left:
        raise Unreachable("nothing more was recorded of it")
    heard = device.left[0]
    if heard["sent"] == "":
        raise _error(device.next(""))
    return PlayedLine(device, heard["prompt"])


@dataclass
class PlayedWire(httpx.BaseTransport):
    """HTTP to a device that is played."""

    device: Played

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        target = request.url.raw_path.decode("ascii")
        if request.method == "PUT":
            return httpx.Response(200, stream=httpx.ByteStream(b"{}"))
        heard = self.device.next(f"{request.method} {target} {request.read().decode()}".rstrip())
        if "failed" in heard:
            unreachable = heard["failed"] in ("Unreachable", "HostKeyRejected")
            raise httpx.ConnectError("as then") if unreachable else httpx.ReadError("as then")
        headers = {"Date": heard["date"]} if "date" in heard else {}
        body = httpx.ByteStream("\n".join(heard["answer"]).encode())
        return httpx.Response(heard["status"], headers=headers, stream=body)


class _Secrets:
    def reveal(self, reference: object, *, what: str) -> str:
        return "played"


def play(told: Heard) -> Iterator[tuple[Heard, Mapping[str, Reading | Failure]]]:
    """Each reading of a site of a document, and what it comes to now. ``told``: the site's part of the document."""
    for part in told["adapters"]:
        readings = [one for one in told["readings"] if one["adapter"] == part["adapter"] and "note" not in one]
        exchanges = [heard for one in readings for heard in one["exchanges"]]
        if not exchanges:
            continue
        clock = RecordedTime(min(map(_moment, exchanges)))
        devices = {
            one["name"]: Played(clock, deque(heard for heard in exchanges if heard["device"] == one["name"]))
            for one in part["devices"]
        }
        adapter = _adapter(told, part, devices, clock)
        for one in readings:
            yield one, probe(adapter, one["reading"], told["services"])
        assert not any(device.left for device in devices.values()), "not all that was recorded was asked for"
        adapter.close()


def _adapter(told: Heard, part: Heard, devices: Mapping[str, Played], clock: VirtualClock) -> Adapter:
    interface = told["shut_interface"]
    site = Site(
        name="played",
        adapter=part["adapter"],
        connect_timeout=0.001,  # attempts to connect were recorded as one
        devices=tuple(Device(**one, address="127.0.0.1", port=8080) for one in part["devices"]),
        login=Login(username="played", password=SecretRef(env="PLAYED")),
        fence=() if interface is None else (FenceOption(interface=interface),),
    )
    context = AdapterContext(clock, _Secrets(), read_only=True)

    if part["adapter"] == "solace-cli":
        return SolaceCliAdapter(
            site, context, dial=lambda device: lambda: connect(devices[device.name]), random=Random(1)
        )
    assert part["adapter"] == "solace-semp", "no way is known here to play that adapter"
    site = site.model_copy(update={"options": {"scheme": "http"}})
    return SolaceSempAdapter(site, context, wire=lambda device: PlayedWire(devices[device.name]), random=Random(1))


def difference(recorded: Heard, answers: Mapping[str, Reading | Failure]) -> list[str]:
    """In what ``answers`` differ from those that were recorded of one reading; a clock may differ by a moment."""
    found = []
    for group in recorded["answers"]:
        for service in group["services"]:
            now = answers[service]
            if isinstance(now, Failure) or "failure" in group:
                then = group.get("failure", {})
                same = isinstance(now, Failure) and (now.kind, now.definite) == (
                    then.get("kind"),
                    then.get("definite"),
                )
                found += [] if same else [f"{service}: {now} for {group}"]
                continue
            shown, expected = now.model_dump(mode="json"), dict(group["understood"])
            for name in ("clock_offset_s",):
                one, other = shown.pop(name, None), expected.pop(name, None)
                if (one is None) != (other is None) or abs((one or 0.0) - (other or 0.0)) > 0.5:
                    found.append(f"{service}: {name} {one} for {other}")
            found += [] if shown == expected else [f"{service}: {shown} for {expected}"]
    return found

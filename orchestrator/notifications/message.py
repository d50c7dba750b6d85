"""The message to a hook: an event as JSON, as a CloudEvent, and its signature.

The identity of an event is its run and its number in the run, and is the same in every attempt. The JSON is the same line
that ``--json`` prints. This module must never see any secret except the signing secret, and must use it only for the
signature.

Sources: CloudEvents 1.0.2, sections "Required Attributes", "Optional Attributes", and its JSON Event Format, section
"JSON Serialization of CloudEvents"; HTTP Protocol Binding, section "Structured Content Mode"; RFC 2104 for HMAC.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from orchestrator.clock import iso
from orchestrator.model.inventory import Hook

# The kind of an event, by its name on screens, if the two differ.
ALIASES: Mapping[str, str] = {"gate.asked": "gate.opened"}
CONTENT_TYPE = "application/cloudevents+json; charset=UTF-8"
SIGNATURE_HEADER = "X-Failover-Signature"
# How the journal writes an event. No kind has a quote in it.
_KIND_FIRST = '{"kind":"'

ScrubData = Callable[[object], object]


def wants(hook: Hook, kind: str) -> bool:
    """Does ``hook`` want this kind of event?"""
    return "*" in hook.on or any(ALIASES.get(name, name) == kind for name in hook.on)


def kind_of(line: Mapping[str, Any]) -> str:
    """The kind of event in a stored record. Most records concern no hook, so they are not read any further."""
    event = str(line["event"])
    if event.startswith(_KIND_FIRST):
        return event[len(_KIND_FIRST) : event.index('"', len(_KIND_FIRST))]
    return str(json.loads(event)["kind"])


@dataclass(frozen=True, slots=True)
class Message:
    """One event on its way to a hook. ``data`` is its JSON; ``at`` is seconds since the epoch."""

    run: str
    seq: int
    at: float
    kind: str
    data: Mapping[str, Any]

    @property
    def id(self) -> str:
        """The identity of the event. It is the same in every attempt, and no other event has it."""
        return f"{self.run}/{self.seq}"

    def line(self) -> bytes:
        """The event on one line, as ``--json`` prints it."""
        return _json(self.data) + b"\n"

    def cloud_event(self) -> bytes:
        """The event in structured mode, all attributes and the data in one JSON object."""
        source = f"/failover/runs/{quote(self.run, safe='')}"
        return _json(envelope(self.id, source, self.kind, self.data["lane"], self.at, self.data))


def envelope(
    name: str, source: str, kind: str, subject: str | None, at: float, data: Mapping[str, Any]
) -> dict[str, Any]:
    """A CloudEvent of this product. ``source`` and ``name`` (its ``id``) are its identity. ``at`` is its time."""
    return {
        "specversion": "1.0",
        "id": name,
        "source": source,
        "type": f"io.failover.{kind}",
        **({} if subject is None else {"subject": subject}),
        "time": iso(at),
        "datacontenttype": "application/json",
        "data": data,
    }


def message_of(line: Mapping[str, Any], *, simulated: bool, scrub: ScrubData) -> Message:
    """The message of a stored record. ``scrub`` replaces secrets that became known after the record was stored."""
    event = json.loads(line["event"])
    data = {
        "run": line["run"],
        "seq": line["seq"],
        "at": iso(line["at"]),
        "simulated": simulated,
        "lane": line["lane"],
        "event": event,
    }
    scrubbed = scrub(data)
    assert isinstance(scrubbed, dict)  # scrub returns a mapping for a mapping
    return Message(line["run"], line["seq"], line["at"], str(event["kind"]), scrubbed)


def signature(secret: str, body: bytes, at: float) -> str:
    """``t=1800000000,v1=5f2c…``: HMAC-SHA256 of ``<t>.<body>`` in hexadecimal. ``t`` is the time of signing, in seconds.

    The time is part of the signed text, so a receiver can refuse a replayed message.
    """
    moment = int(at)
    key = secret.encode("utf-8", "surrogateescape")
    return f"t={moment},v1={hmac.new(key, f'{moment}.'.encode() + body, hashlib.sha256).hexdigest()}"


def _json(data: object) -> bytes:
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "backslashreplace")

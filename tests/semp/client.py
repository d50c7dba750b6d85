"""A plain client of the lab, in process: what a broker is asked and refuses, without the adapter between."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from simulator.http.server import Incoming, Outgoing
from tests.semp.stage import PASSWORD, TOKEN, Semp

MONITOR, CONFIG, ACTION = "/SEMP/v2/monitor/", "/SEMP/v2/config/", "/SEMP/v2/action/"
QUEUE = f"{MONITOR}msgVpns/V/queues/%23MSGVPN_REPLICATION_DATA_QUEUE"
BASIC = "Basic " + base64.b64encode(f"operator:{PASSWORD}".encode()).decode()
XID = "0021B028-00-01"


class Client:
    """Speaks to one node, with a token unless told otherwise."""

    def __init__(self, semp: Semp, node: str = "NY_Appliance1") -> None:
        self.semp, self.node = semp, node

    def ask(
        self, method: str, target: str, body: object = None, kind: str = "application/json", **headers: str
    ) -> Outgoing:
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"authorization": f"Bearer {TOKEN}", "host": "lab:1"} | ({"content-type": kind} if data else {})
        return self.semp.wires[self.node].handler(Incoming(method, target, sent | headers, data, "here"))

    def get(self, target: str) -> Mapping[str, Any]:
        return self.ok("GET", target)

    def ok(self, method: str, target: str, body: object = None) -> Mapping[str, Any]:
        answer = self.ask(method, target, body)
        found: Mapping[str, Any] = json.loads(answer.body)
        assert (answer.status, found["meta"]["responseCode"]) == (200, 200), found
        return found

    def refused(self, method: str, target: str, body: object = None, **more: str) -> tuple[int, int]:
        """HTTP status and SEMP code."""
        answer = self.ask(method, target, body, **more)
        meta = json.loads(answer.body)["meta"]
        assert (meta["responseCode"], set(meta["error"])) == (answer.status, {"code", "status", "description"})
        return answer.status, meta["error"]["code"]

    def xml(self, body: str) -> str:
        answer = self.ask("POST", "/SEMP", body.encode(), "application/xml")
        assert answer.status == 200
        return answer.body.decode()


def v1(inside: str) -> str:
    return f"<rpc>{inside}</rpc>"


VPN = "<message-vpn><vpn-name>{}</vpn-name><replication>{}</replication></message-vpn>"

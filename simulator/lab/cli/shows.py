"""The ``show`` commands: maps their words to the tables of ``layouts``. Nothing here can change an appliance."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from simulator.lab.cli import layouts, node_layouts, site_layouts
from simulator.lab.cli.commands import Interfaced
from simulator.lab.cli.plans import Invalid, Plan, fits, is_pattern, options
from simulator.lab.edition import Edition
from simulator.solace.appliance import (
    Appliance,
    Described,
    EndpointKind,
    EndpointView,
    Gated,
    Holding,
    NoSuchObject,
    PlatformView,
    QueueView,
    Refused,
    VpnReplication,
)

Lines = Sequence[str]
_ALL = 1_000_000_000  # messages: more than any endpoint has


class Shows:
    """Every ``show`` that this appliance answers. It works in every mode (the procedure uses it in configure)."""

    def __init__(self, appliance: Appliance, edition: Edition) -> None:
        self._appliance = appliance
        self._edition = edition

    def plan(self, words: Sequence[str]) -> Plan:
        """The plan for the words after ``show``. Raises ``Invalid``."""
        read = self._reader(words)
        return Plan("show", lambda: self._edition.printed(words, read()))

    def _reader(self, words: Sequence[str]) -> Callable[[], Lines]:
        match words:
            case ["message-vpn", vpns]:
                return lambda: self._message_vpn(vpns)
            case ["message-vpn", vpns, "detail"]:
                return lambda: self._message_vpn_detail(vpns)
            case ["message-vpn", vpns, "replication"]:
                return lambda: self._replication(vpns)
            case ["queue" | "topic-endpoint", *_]:
                return self._of_endpoints(words)
            case ["client", name, *rest]:
                vpns = options(rest, valued=["message-vpn"]).get("message-vpn", "*")
                return lambda: self._clients(name, vpns)
            case ["transaction", *rest]:
                return self._transaction_reader(rest)
            case _:
                return self._of_node(words)

    def _of_endpoints(self, words: Sequence[str]) -> Callable[[], Lines]:
        match words:
            case ["queue" | "topic-endpoint" as kind, name, "message-vpn", vpn, "messages", *rest]:
                return self._message_reader(kind, name, vpn, rest)
            case ["topic-endpoint", name, *rest]:
                vpns = options(rest, valued=["message-vpn"]).get("message-vpn", "*")
                return lambda: self._endpoints("topic-endpoint", name, vpns)
            case ["queue", queue, *rest]:
                which = options(rest, valued=["message-vpn"], bare=["detail"])
                vpns = which.get("message-vpn", "*")
                if is_pattern(queue) and "detail" not in which:
                    return lambda: self._endpoints("queue", queue, vpns)
                return lambda: self._queue(queue, vpns, detail="detail" in which)
            case _:
                raise Invalid

    def _of_node(self, words: Sequence[str]) -> Callable[[], Lines]:
        """The readings about the node itself."""
        match words:
            case ["redundancy"]:
                return lambda: node_layouts.redundancy_block(self._appliance.redundancy(), self._edition)
            case ["redundancy", "detail"]:
                return lambda: node_layouts.redundancy_detail_block(self._appliance.redundancy())
            case ["message-spool"]:
                return lambda: node_layouts.message_spool_block(self._appliance.redundancy())
            case ["message-spool", "detail"]:
                return self._spool_detail
            case ["service"]:
                return lambda: site_layouts.service_block(is_backbone_up=self._gated().is_backbone_up())
            case ["interface", name]:
                return lambda: self._interface(name)
            case ["replication"]:
                return lambda: site_layouts.replication_block(self._platform())
            case ["config-sync"]:
                return lambda: site_layouts.config_sync_block(self._platform())
            case ["clock"] | ["clock", "detail"]:
                return lambda: site_layouts.clock_block(self._platform())
            case ["version"]:
                return lambda: site_layouts.version_block(self._edition)
            case _:
                raise Invalid

    def _vpns(self, pattern: str) -> list[str]:
        names = sorted(name for name in self._appliance.vpn_names() if fits(name, pattern))
        if names or is_pattern(pattern) or not self._edition.is_unknown_name_refused:
            return names
        self._appliance.replication(pattern)  # raises the appliance's own error for an unknown name
        raise NoSuchObject(f"Message VPN '{pattern}' does not exist")

    def _message_vpn(self, pattern: str) -> Lines:
        is_serving = self._appliance.redundancy().activity == "Local Active"
        blocks = (
            layouts.vpn_block(self._appliance.replication(name), is_serving=is_serving)
            for name in self._vpns(pattern)
        )
        return [line for block in blocks for line in block]

    def _replication(self, pattern: str) -> Lines:
        rows: list[VpnReplication | str] = []
        if fits(layouts.CONFIG_SYNC_VPN, pattern):
            rows.append(layouts.CONFIG_SYNC_VPN)
        names = [] if pattern == layouts.CONFIG_SYNC_VPN else self._vpns(pattern)
        rows += [self._appliance.replication(name) for name in names]
        return layouts.replication_table(rows, self._edition)

    def _queue(self, queue: str, vpns: str, *, detail: bool) -> Lines:
        names = self._vpns(vpns)
        views = (
            self._replication_queues(names, is_one=names == [vpns]) if fits(layouts.REPLICATION_QUEUE, queue) else []
        )
        if not views and not is_pattern(queue) and self._edition.is_unknown_name_refused and names:
            raise NoSuchObject(f"Queue '{queue}' does not exist")  # assumption: the wording
        return [line for view in views for line in layouts.queue_block(view, detail=detail)]

    def _replication_queues(self, names: Sequence[str], *, is_one: bool) -> list[QueueView]:
        views = []
        for name in names:
            try:
                views.append(self._appliance.replication_queue(name))
            except NoSuchObject:  # a wildcard skips VPNs that are not replicated
                if is_one and self._edition.is_unknown_name_refused:
                    raise
        return views

    def _endpoints(self, kind: EndpointKind, pattern: str, vpns: str) -> Lines:
        found = []
        for name in self._vpns(vpns):
            if kind == "queue" and fits(layouts.REPLICATION_QUEUE, pattern):
                found += [_as_endpoint(view) for view in self._replication_queues([name], is_one=False)]
            held = self._appliance.endpoints(name) if isinstance(self._appliance, Holding) else ()
            found += [one for one in held if one.kind == kind and fits(one.name, pattern)]
        return site_layouts.endpoint_table(found, kind)

    def _message_reader(self, kind: str, name: str, vpn: str, words: Sequence[str]) -> Callable[[], Lines]:
        limit: int | None = None
        if len(words) >= 3 and list(words[-3:-1]) == ["count", "num-elements"]:
            limit, words = _number(words[-1]), words[:-3]
        if list(words) not in (["detail"], ["oldest", "detail"]):
            raise Invalid

        def read() -> Lines:
            of: EndpointKind = "queue" if kind == "queue" else "topic-endpoint"
            held = self._holding().messages(vpn, of, name, None, limit if limit is not None else _ALL)
            return site_layouts.message_blocks(held)

        return read

    def _clients(self, pattern: str, vpns: str) -> Lines:
        gated = self._gated()
        found = [one for vpn in self._vpns(vpns) for one in gated.clients(vpn) if fits(one.name, pattern)]
        return site_layouts.client_table(found)

    def _message_vpn_detail(self, pattern: str) -> Lines:
        gated, is_serving = self._gated(), self._appliance.redundancy().activity == "Local Active"
        return [
            line
            for name in self._vpns(pattern)
            for line in site_layouts.vpn_detail_block(
                self._appliance.replication(name), len(gated.clients(name)), is_serving=is_serving
            )
        ]

    def _spool_detail(self) -> Lines:
        redundancy = self._appliance.redundancy()
        block = node_layouts.message_spool_block(redundancy)
        if not isinstance(self._appliance, Described):
            return block
        return [*block[:-1], *site_layouts.spool_detail(redundancy, self._appliance.platform())]

    def _interface(self, name: str) -> Lines:
        known = self._appliance.interfaces() if isinstance(self._appliance, Interfaced) else {}
        if name not in known:
            raise NoSuchObject(f"Interface '{name}' not found")  # assumption: the wording
        return site_layouts.interface_block(name, is_enabled=known[name])

    def _gated(self) -> Gated:
        if not isinstance(self._appliance, Gated):
            raise Refused("Error: this simulated appliance does not report its services")
        return self._appliance

    def _holding(self) -> Holding:
        if not isinstance(self._appliance, Holding):
            raise Refused("Error: this simulated appliance does not report its endpoints")
        return self._appliance

    def _platform(self) -> PlatformView:
        if not isinstance(self._appliance, Described):
            raise Refused("Error: this simulated appliance does not report what it is")
        return self._appliance.platform()

    def _transaction_reader(self, words: Sequence[str]) -> Callable[[], Lines]:
        # "count num-elements N" ends the line in the documented grammar (docs/sources/solace.md, 3.4).
        limit: int | None = None
        if len(words) >= 3 and list(words[-3:-1]) == ["count", "num-elements"]:
            limit, words = _number(words[-1]), words[:-3]
        which = options(words, valued=["xid", "message-vpn", "state"], bare=["replicated", "detail"])

        def read() -> Lines:
            rows = [
                row
                for name in self._vpns(which.get("message-vpn", "*"))
                for row in self._appliance.transactions(name)
                if row.xid == which.get("xid", row.xid)
                and row.state == which.get("state", row.state).upper()
                and (row.replicated or "replicated" not in which)
            ][:limit]
            if "detail" in which:
                return layouts.transaction_blocks(rows)
            return layouts.transaction_table(rows, self._edition)

        return read


def _as_endpoint(view: QueueView) -> EndpointView:
    return EndpointView(view.vpn, layouts.REPLICATION_QUEUE, "queue", view.messages, view.usage_mb, None, None)


def _number(word: str) -> int:
    if not word.isdecimal():
        raise Invalid
    return int(word)

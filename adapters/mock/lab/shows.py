"""The ``show`` commands: from their words to the tables of ``layouts``. Nothing here can change an appliance."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adapters.mock.appliance import Appliance, Gated, NoSuchObject, QueueView, Refused, VpnReplication
from adapters.mock.lab import layouts, node_layouts
from adapters.mock.lab.edition import Edition
from adapters.mock.lab.plans import Invalid, Plan, fits, is_pattern, options

Lines = Sequence[str]


class Shows:
    """Every ``show`` that this appliance answers, in every mode (the seed does it from configure)."""

    def __init__(self, appliance: Appliance, edition: Edition) -> None:
        self._appliance = appliance
        self._edition = edition

    def plan(self, words: Sequence[str]) -> Plan:
        """The plan for what follows ``show``. Raises ``Invalid``."""
        read = self._reader(words)
        return Plan("show", lambda: self._edition.printed(words, read()))

    def _reader(self, words: Sequence[str]) -> Callable[[], Lines]:
        match words:
            case ["message-vpn", vpns]:
                return lambda: self._message_vpn(vpns)
            case ["message-vpn", vpns, "replication"]:
                return lambda: self._replication(vpns)
            case ["queue", queue, *rest]:
                which = options(rest, valued=["message-vpn"], bare=["detail"])
                return lambda: self._queue(queue, which.get("message-vpn", "*"), detail="detail" in which)
            case ["transaction", *rest]:
                return self._transaction_reader(rest)
            case ["redundancy"]:
                return lambda: node_layouts.redundancy_block(self._appliance.redundancy(), self._edition)
            case ["redundancy", "detail"]:
                return lambda: node_layouts.redundancy_detail_block(self._appliance.redundancy())
            case ["message-spool"] | ["message-spool", "detail"]:
                return lambda: node_layouts.message_spool_block(self._appliance.redundancy())
            case ["service"]:
                return self._service
            case ["version"]:
                return lambda: node_layouts.version_block(self._edition)
            case _:
                raise Invalid

    def _vpns(self, pattern: str) -> list[str]:
        names = sorted(name for name in self._appliance.vpn_names() if fits(name, pattern))
        if names or is_pattern(pattern) or not self._edition.is_unknown_name_refused:
            return names
        self._appliance.replication(pattern)  # the appliance has its own words for a name it does not know
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
            except NoSuchObject:  # a VPN that was never replicated is passed over by a wildcard
                if is_one and self._edition.is_unknown_name_refused:
                    raise
        return views

    def _service(self) -> Lines:
        if not isinstance(self._appliance, Gated):
            raise Refused("Error: this simulated appliance does not tell of its services")
        return node_layouts.service_block(is_backbone_up=self._appliance.is_backbone_up())

    def _transaction_reader(self, words: Sequence[str]) -> Callable[[], Lines]:
        # "count num-elements N" ends the line in the documented grammar; facts/solace.md 3.4.
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


def _number(word: str) -> int:
    if not word.isdecimal():
        raise Invalid
    return int(word)

"""The readings of the CLI: which ``show`` commands serve them, and what a reading of many services costs.

If the CLI has one command for many services, that command is used: a wildcard for replication states, one for
replication queues, no name at all for transactions. Every requested service gets a separate answer. A service that is
missing from a readable answer is definitely absent. An answer that cannot be read as a whole raises.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeVar

from adapters.solace.names import quoted
from adapters.solace.nodes import Node
from adapters.solace.parse_queue import REPLICATION_QUEUE, parse_queues
from adapters.solace.parse_replication import parse_replication
from adapters.solace.parse_transactions import Listed, is_silent, parse_transactions
from adapters.solace.reading_models import (
    QueueDepth,
    ReplicationStatus,
    Transaction,
    Transactions,
    TransactionState,
)
from orchestrator.errors import AdapterError, CommandRejected, NoSuchService, UnreadableReply
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading

T = TypeVar("T")
Answers = dict[str, Reading | Failure]

SHOW_REDUNDANCY = "show redundancy"
SHOW_TRANSACTION = "show transaction"


def read_replication(node: Node, services: Sequence[str]) -> Answers:
    """``replication`` of each of ``services``, by one command. Raises if the whole answer cannot be read."""
    try:
        rows = parse_replication(node.read(show_replication(services)), node.device.name)
    except NoSuchService as error:
        return {service: Failure.of(error) for service in services}
    return {service: _row(rows, service, node) for service in services}


def read_queues(node: Node, services: Sequence[str]) -> Answers:
    """``replication_queue`` of each of ``services``.

    Assumption: ``message-vpn *`` shows every message VPN's queue in one answer (docs/sources/solace.md, 2.1 has the
    wildcard for names in ``show``; no source prints this one). If a device does not know the wildcard, or its answer
    lacks a service, the queues are read one by one. Then the device itself says that a queue is missing.
    """
    found: Mapping[str, QueueDepth] = {}
    if len(services) > 1:
        try:
            found = parse_queues(node.read(_show_queue("*")), node.device.name)
        except (CommandRejected, NoSuchService, UnreadableReply):
            found = {}
    return {service: found[service] if service in found else _read_queue(node, service) for service in services}


def read_transactions(node: Node, services: Sequence[str]) -> Answers:
    """``transactions`` of each of ``services``: all of them, in every state.

    The table form is read, since only the table can show that there are none. For many services, the command is sent
    without a name, and lists the transactions of every message VPN. The table of replication states then tells which
    services exist. Client and counts come from the ``detail`` form, asked for only where a prepared transaction waits
    for a decision or a state has no known letter.
    """
    if len(services) == 1:
        return {services[0]: _one(node, services[0])}
    existing = read_replication(node, services)
    _, listed = _listed(node, SHOW_TRANSACTION, f"{SHOW_TRANSACTION} message-vpn *")
    by_vpn = _by_vpn(listed)
    answers: Answers = {}
    for service in services:
        exists = existing[service]
        answers[service] = exists if isinstance(exists, Failure) else _detailed(node, service, by_vpn[service])
    return answers


def show_replication(services: Sequence[str]) -> str:
    """The command that shows the replication state of one service, or of all."""
    return f"show message-vpn {_one_or_all(services)} replication"


def show_queues(services: Sequence[str]) -> str:
    """The command that shows the replication queue of one service, or of all."""
    return _show_queue(_one_or_all(services))


def _show_queue(vpn: str) -> str:
    return f"show queue {REPLICATION_QUEUE} message-vpn {vpn} detail"


def show_transactions(services: Sequence[str]) -> list[str]:
    """The commands that list the transactions of ``services``."""
    if len(services) == 1:
        return [f"{SHOW_TRANSACTION} message-vpn {quoted(services[0])}"]
    return [show_replication(services), SHOW_TRANSACTION]


def _one_or_all(services: Sequence[str]) -> str:
    return quoted(services[0]) if len(services) == 1 else "*"


def _row(rows: Mapping[str, ReplicationStatus], service: str, node: Node) -> Reading | Failure:
    return rows[service] if service in rows else _absent(service, node)


def _absent(service: str, node: Node) -> Failure:
    name = node.device.name
    return Failure.of(NoSuchService(f"{name} does not list the message VPN {service}", device=name))


def _read_queue(node: Node, service: str) -> QueueDepth | Failure:
    """One service's queue. An error about this service alone is the answer. A broken session affects every service and
    raises."""
    name = node.device.name
    text = node.read(_show_queue(quoted(service)))
    try:
        found = parse_queues(text, name)
        if service not in found:
            raise UnreadableReply(
                f"{name} shows the queue of another message VPN, not of {service}", text=text, device=name
            )
        return found[service]
    except AdapterError as error:
        return Failure.of(error)


def _one(node: Node, service: str) -> Transactions | Failure:
    exists: Reading | Failure | None = None
    try:
        text, listed = _listed(node, f"{SHOW_TRANSACTION} message-vpn {quoted(service)}", SHOW_TRANSACTION)
        if is_silent(text):  # a message VPN that does not exist may also print nothing
            exists = read_replication(node, [service])[service]
    except (NoSuchService, CommandRejected, UnreadableReply) as error:
        return Failure.of(error)
    if isinstance(exists, Failure):
        return exists
    strangers = [one for one in listed if one.vpn != service]
    if strangers and not is_silent(text):
        why = f"{node.device.name} lists a transaction of {strangers[0].vpn}, but the request was for {service}"
        return Failure.of(UnreadableReply(why, text=text, device=node.device.name))
    return _detailed(node, service, [one for one in listed if one.vpn == service])


def _listed(node: Node, command: str, wider: str) -> tuple[str, Sequence[Listed]]:
    """The output of ``command``, and the transactions. If the output is empty, the ``wider`` form counts instead. If
    its output is empty too, there are no transactions."""
    text = node.read(command)
    if not is_silent(text):
        return text, parse_transactions(text, node.device.name)
    second = node.read(wider)
    return text, () if is_silent(second) else parse_transactions(second, node.device.name)


def _detailed(node: Node, service: str, listed: Sequence[Listed]) -> Transactions:
    """The transactions. Those that wait for a decision have client and counts, if the device shows them. A state whose
    letter is not known is read as a word, if the device shows it."""
    items = [one.transaction for one in listed]
    is_unclear = any(item.state is None for item in items)
    waits = any(item.state is TransactionState.PREPARED and item.replicated is not False for item in items)
    if not waits and not is_unclear:
        return Transactions(items=tuple(items))
    text = node.read(show_details(service, "" if is_unclear else " state PREPARED"))
    try:
        told = {one.transaction.xid: one.transaction for one in parse_transactions(text, node.device.name)}
    except AdapterError:
        told = {}  # the transactions exist in any case; their details stay unknown
    return Transactions(items=tuple(_with_details(item, told.get(item.xid)) for item in items))


def _with_details(item: Transaction, found: Transaction | None) -> Transaction:
    if found is None:
        return item
    extra = {"client": found.client, "published": found.published, "consumed": found.consumed}
    return item.model_copy(update={**extra, "state": found.state if item.state is None else item.state})


def show_details(service: str, which: str) -> str:
    """The command that shows transactions of ``service`` in full: all, or those in the state that ``which`` names."""
    return f"{SHOW_TRANSACTION} message-vpn {quoted(service)}{which} detail"


def _by_vpn(listed: Sequence[Listed]) -> Mapping[str, list[Listed]]:
    found: dict[str, list[Listed]] = defaultdict(list)
    for one in listed:
        found[one.vpn].append(one)
    return found

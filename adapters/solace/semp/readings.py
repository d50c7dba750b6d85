"""The readings of a message VPN over SEMP: which requests serve them, and how attributes become values.

If SEMP v2 has a paged request for many services, that request is used. Every requested service gets a separate answer.
A service that is missing from a readable answer is definitely absent. An answer that cannot be read as a whole raises.
An attribute that is not reported is unknown: absent is not false (docs/sources/solace.md, 0.4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from adapters.solace.reading_models import (
    Bridge,
    QueueDepth,
    ReplicationStatus,
    Transaction,
    Transactions,
    TransactionState,
)
from adapters.solace.semp.client import Item, SempReader
from adapters.solace.semp.envelope import Object, count_in, flag_in, size_of, text_in
from adapters.solace.semp.paths import PAGE, REPLICATION_QUEUE, path_of, query_of
from orchestrator.errors import AdapterError, CommandRejected, NoSuchService, UnreadableReply
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from orchestrator.model.readings import Role

Answers = dict[str, Reading | Failure]

_NAME = "msgVpnName"
_REPLICATION = (
    _NAME,
    "replicationEnabled",
    "replicationRole",
    "replicationBridgeUp",
    "replicationBridgeBoundToQueue",
    "replicationRemoteBridgeUp",
    "replicationQueueBound",
    "replicationSyncEligible",
    "replicationRejectMsgWhenSyncIneligibleEnabled",
    "replicationTransactionMode",
)
_REJECTS = "replicationQueueRejectMsgToSenderOnDiscardEnabled"
_QUEUE = (_NAME, "queueName", "msgSpoolUsage", "maxMsgSpoolUsage", "msgs.count")
_TRANSACTIONS = (_NAME, "xid", "type", "state", "replicated", "timeInState", "clientName")
_MESSAGES_OF = ("publisherMsgs", "consumerMsgs")
_COUNTS = ("xid", *(f"{name}.count" for name in _MESSAGES_OF))
_MEGABYTE = 1_048_576
_STATES = {str(state): state for state in TransactionState}
_TYPES: Mapping[str, Literal["xa", "local"]] = {"xa": "xa", "local": "local"}
_MODES: Mapping[str, Literal["sync", "async"]] = {"sync": "sync", "async": "async"}
_ROLES = {str(role): role for role in Role}


def read_replication(reader: SempReader, services: Sequence[str]) -> Answers:
    """``replication`` of each of ``services`` (docs/sources/solace.md, 1.6)."""
    return {
        service: found if isinstance(found, Failure) else _status(found)
        for service, found in vpns(reader, services, _REPLICATION).items()
    }


def read_queues(reader: SempReader, services: Sequence[str]) -> Answers:
    """``replication_queue`` of each of ``services``: ``collections.msgs.count`` of the queue, never a
    life-time counter (section 1.7). SEMP v2 has no list of queues over all message VPNs, so each queue is read."""
    answers: Answers = {}
    for service, vpn in vpns(reader, services, (_NAME, _REJECTS)).items():
        answers[service] = vpn if isinstance(vpn, Failure) else _queue(reader, service, flag_in(vpn, _REJECTS))
    return answers


def read_transactions(reader: SempReader, services: Sequence[str]) -> Answers:
    """``transactions`` of each of ``services``: all of them, in every state (section 1.8)."""
    answers: Answers = {}
    for service, vpn in vpns(reader, services, (_NAME,)).items():
        answers[service] = vpn if isinstance(vpn, Failure) else _transactions(reader, service)
    return answers


def vpns(reader: SempReader, services: Sequence[str], select: Sequence[str]) -> Mapping[str, Object | Failure]:
    """Each message VPN's attributes: one request for one service, one paged list for many. A missing one is a
    ``Failure``."""
    if len(services) == 1:
        return {services[0]: _vpn(reader, services[0], select)}
    listed = {
        name: item.data
        for item in reader.all(path_of("monitor", "msgVpns"), select=select)
        if (name := text_in(item.data, _NAME)) is not None
    }
    return {service: listed[service] if service in listed else _absent(reader, service) for service in services}


def vpn_lines(services: Sequence[str], select: Sequence[str]) -> str:
    """The first request of ``vpns``."""
    one = len(services) == 1
    path = path_of("monitor", "msgVpns", services[0]) if one else path_of("monitor", "msgVpns")
    return f"GET {path}{query_of(select=select, count=None if one else PAGE)}"


def replication_lines(services: Sequence[str]) -> list[str]:
    """The requests of ``read_replication``."""
    return [vpn_lines(services, _REPLICATION)]


def queue_lines(services: Sequence[str]) -> list[str]:
    """The requests of ``read_queues``."""
    queues = [f"GET {_queue_path(service)}{query_of(select=_QUEUE)}" for service in services]
    return [vpn_lines(services, (_NAME, _REJECTS)), *queues]


def transaction_lines(services: Sequence[str]) -> list[str]:
    """The requests of ``read_transactions``; requests for the counts of prepared transactions and for further pages are
    additional."""
    lists = [f"GET {_transactions_path(service)}{query_of(select=_TRANSACTIONS, count=PAGE)}" for service in services]
    return [vpn_lines(services, (_NAME,)), *lists]


def _vpn(reader: SempReader, service: str, select: Sequence[str]) -> Object | Failure:
    try:
        found = reader.one(path_of("monitor", "msgVpns", service), select=select).data
    except NoSuchService:
        return _absent(reader, service)
    except CommandRejected as error:  # about this message VPN; a broken session affects all
        return Failure.of(error)
    name = text_in(found, _NAME)
    if name != service:
        return Failure.of(_stranger(reader, f"message VPN {name}", f"message VPN {service}", found))
    return found


def _absent(reader: SempReader, service: str) -> Failure:
    name = reader.device
    return Failure.of(NoSuchService(f"{name} does not list the message VPN {service}", device=name))


def _stranger(reader: SempReader, came: str, wanted: str, found: Object) -> UnreadableReply:
    sentence = f"{reader.device} answered with {came}, but the request was for {wanted}"
    return UnreadableReply(sentence, text=str(found), device=reader.device)


def _status(vpn: Object) -> ReplicationStatus:
    return ReplicationStatus(
        enabled=flag_in(vpn, "replicationEnabled"),
        role=_ROLES.get(text_in(vpn, "replicationRole") or ""),
        bridge=_bridge(vpn),
        remote_bridge_up=flag_in(vpn, "replicationRemoteBridgeUp"),
        queue_bound=flag_in(vpn, "replicationQueueBound"),
        sync_eligible=flag_in(vpn, "replicationSyncEligible"),
        reject_when_ineligible=flag_in(vpn, "replicationRejectMsgWhenSyncIneligibleEnabled"),
        transaction_mode=_MODES.get(text_in(vpn, "replicationTransactionMode") or ""),
    )


def _bridge(vpn: Object) -> Bridge | None:
    """Up and bound, up only, or down. None if an attribute that decides this is not reported."""
    if text_in(vpn, "replicationRole") == Role.ACTIVE:
        return None  # the active's own bridge is disabled, so its state means nothing
    is_up, is_bound = flag_in(vpn, "replicationBridgeUp"), flag_in(vpn, "replicationBridgeBoundToQueue")
    if is_up is False:
        return Bridge.DOWN
    if is_up is None or is_bound is None:
        return None
    return Bridge.BOUND if is_bound else Bridge.UNBOUND


def _queue_path(service: str) -> str:
    return path_of("monitor", "msgVpns", service, "queues", REPLICATION_QUEUE)


def _queue(reader: SempReader, service: str, rejects: bool | None) -> QueueDepth | Failure:
    path = _queue_path(service)
    try:
        found = reader.one(path, select=_QUEUE)
        named = (text_in(found.data, _NAME), text_in(found.data, "queueName"))
        if named != (service, REPLICATION_QUEUE):
            raise _stranger(
                reader, f"queue {named[1]} of {named[0]}", f"the replication queue of {service}", found.data
            )
        depth = size_of(found.collections, "msgs")
        if depth is None:
            depth = reader.size(path + "/msgs")  # the other documented way to the same number
    except NoSuchService:
        # The message VPN exists. An answer without its queue must not count as an empty queue.
        device = reader.device
        return Failure.of(CommandRejected(f"{service} has no replication queue on {device}", device=device))
    except CommandRejected as error:
        return Failure.of(error)
    except UnreadableReply as error:
        return Failure.of(error)
    usage, quota = count_in(found.data, "msgSpoolUsage"), count_in(found.data, "maxMsgSpoolUsage")
    return QueueDepth(
        messages=depth,
        usage_mb=None if usage is None else usage / _MEGABYTE,
        quota_mb=None if quota is None else float(quota),
        rejects_on_discard=rejects,
    )


def _transactions_path(service: str, *more: str) -> str:
    return path_of("monitor", "msgVpns", service, "transactions", *more)


def _transactions(reader: SempReader, service: str) -> Transactions | Failure:
    try:
        items = list(reader.all(_transactions_path(service), select=_TRANSACTIONS))
        return Transactions(items=tuple(_transaction(reader, service, item) for item in items))
    except (CommandRejected, NoSuchService, UnreadableReply) as error:
        return Failure.of(error)


def _transaction(reader: SempReader, service: str, item: Item) -> Transaction:
    data = item.data
    xid = text_in(data, "xid")
    if xid is None or text_in(data, _NAME) not in (None, service):
        raise _stranger(
            reader, "an object without an XID, or of another message VPN", f"transactions of {service}", data
        )
    state = _STATES.get(text_in(data, "state") or "")
    replicated = flag_in(data, "replicated")
    waits = state is TransactionState.PREPARED and replicated is not False
    published, consumed = _counts(reader, service, xid) if waits else (None, None)
    in_state = count_in(data, "timeInState")
    return Transaction(
        xid=xid,
        state=state,
        type=_TYPES.get(text_in(data, "type") or ""),
        replicated=replicated,
        client=text_in(data, "clientName"),
        published=published,
        consumed=consumed,
        in_state_s=None if in_state is None else float(in_state),
    )


def _counts(reader: SempReader, service: str, xid: str) -> tuple[int | None, int | None]:
    """The numbers of published and consumed messages, read only if the transaction waits for a person's decision."""
    try:
        found = reader.one(_transactions_path(service, xid), select=_COUNTS)
    except AdapterError:
        return None, None  # the transaction exists in any case; its counts stay unknown
    published, consumed = (size_of(found.collections, name) for name in _MESSAGES_OF)
    return published, consumed

"""The elements that AMPS documents for the parts of a configuration that replication depends on.

Only those parts are listed: the content of ``Admin``, ``Logging``, ``Actions`` and similar elements is not checked.
The lists come from the configuration guide, which may be incomplete. So an unknown element leads to a remark, and is
never refused.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SECURITY = _words("Certificate PrivateKey Ciphers SecureSocketProtocols VerifyClient CAFile CAPath")
_SLOW_CLIENTS = _words("MessageMemoryLimit MessageDiskLimit MessageDiskPath ClientMessageAgeLimit ClientMaxCapacity")
_QUEUE = _words(
    "Name Topic MessageType UnderlyingTopic DefaultPublishTarget Filter Semantics LeasePeriod Expiration "
    "ExpirationModel MaxBacklog MaxPerSubscriptionBacklog FairnessModel Leasing MaxDeliveries MaxCancels "
    "RecoveryPoint DeferredAckExpiration FileBackedMetadata TargetQueueDepth Priority BarrierExpression "
    "FileName Durability Duration"
)
_OUTGOING = (
    _words("Name Type InetAddr ReconnectTimeout Authenticator IpProtocolPrefer Compression ReuseAddr") | _SECURITY
)

KNOWN: Mapping[str, frozenset[str]] = {
    "AMPSConfig": _SLOW_CLIENTS
    | _words(
        "Name Group ProcessName Description Environment SuggestedMinimumVersion RequiredMinimumVersion "
        "ConfigIncludeCommentDefault ConfigCycleDetectionThreshold UserDefinedFunctions MiniDumpDirectory "
        "MiniDumpFileMask Tuning Externals SOWStatsInterval SOWStatisticsInterval RegexTopicSupport ConfigValidation "
        "Transports Protocols TransactionLog SOW Replication Bootstrap Admin Logging Actions Modules MessageTypes "
        "Authentication Entitlement"
    ),
    "Transports": frozenset({"Transport"}),
    "Transports/Transport": _SECURITY
    | _SLOW_CLIENTS
    | _words(
        "Name Type InetAddr Protocol MessageType InitialState Authentication Entitlement TransportFilter FileName "
        "ReuseAddr Compression"
    ),
    "TransactionLog": _words(
        "JournalDirectory JournalArchiveDirectory PreallocatedJournalFiles JournalSize MinJournalSize FlushInterval "
        "O_DIRECT InactiveClientAckExpiration CompressedJournalCacheMemoryLimit Topic"
    ),
    "TransactionLog/Topic": frozenset({"Name", "MessageType"}),
    "SOW": _words(
        "Topic View ViewDefinition ConflatedTopic ReplicaDefinition Queue QueueDefinition LocalQueue GroupLocalQueue"
    ),
    "SOW/Topic": _words(
        "Name Topic MessageType FileName Durability Duration RecoveryPoint Expiration Key KeyDomain KeyGenerator "
        "Pattern History HashIndex Index SlabSize InitialSlabCount ExpectedKeyCountHint Preprocessing "
        "Enrichment"
    ),
    "SOW/Queue": _QUEUE,
    "SOW/LocalQueue": _QUEUE,
    "SOW/GroupLocalQueue": _QUEUE | frozenset({"InitialOwner", "GroupLocalQueueDomain"}),
    "Replication": frozenset({"Destination"}),
    "Replication/Destination": _words(
        "Name Group SyncType PassThrough Topic Transport AckConflationInterval Compression"
    ),
    "Replication/Destination/Topic": frozenset({"Name", "MessageType", "Filter", "ExcludeValidation"}),
    "Replication/Destination/Transport": _OUTGOING,
    "Bootstrap": frozenset({"Topic", "DataType", "Transport"}),
    "Bootstrap/Topic": frozenset({"Name", "MessageType"}),
    "Bootstrap/Transport": _OUTGOING,
}


def meant(word: str, among: frozenset[str]) -> str | None:
    """The known word that ``word`` probably misspells, or None."""
    close = difflib.get_close_matches(word, sorted(among), n=1, cutoff=0.75)
    return close[0] if close else None

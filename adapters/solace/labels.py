"""The names of values in the labels and column headers of the CLI, in all known versions. All parsers use this table.

Names are compared without case, blanks and punctuation, since versions and documents differ in these
(``Reject Msg To Sender On Discard``, ``… to Sender on Discard``). A name without a source is marked as an assumption.
Sources: docs/sources/solace-procedure.md; docs/sources/solace-cli.md, whose sections are given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TypeVar

from adapters.solace.tables import Label, label_in

Value = TypeVar("Value")


def plain(name: str) -> str:
    """``name`` without case, blanks and punctuation, ``#`` included."""
    return "".join(letter for letter in name.casefold() if letter.isalnum())


class Term(Enum):
    """One value, and every name that a version gives it."""

    # show queue … detail (section 11)
    QUEUE_NAME = ("Name", "Queue Name")
    MESSAGE_VPN = ("Message VPN", "Message-VPN", "MsgVpn")
    DEPTH = ("Current Messages Spooled", "Number of Messages Currently Spooled")
    USAGE_MB = ("Current Spool Usage (MB)",)
    # Assumption: the quota is named as the command that sets it, or as SEMP v1 names it.
    QUOTA_MB = ("Max Spool Usage (MB)", "Maximum Spool Usage (MB)", "Quota (MB)", "Max Message Spool Usage (MB)")
    # Assumption: named as the command that sets it. "Reject Msg to Sender on Discard" is printed in a public text.
    REJECTS = ("Reject Msg To Sender On Discard", "Reject Messages To Sender On Discard")
    # show queue … messages (section 12): the order is known from SEMP v1, the printed labels are an assumption.
    MESSAGE_ID = ("Message Id", "Msg Id")
    SPOOLED_AT = ("Date", "Date Spooled", "Spooled Time", "Date/Time")
    GROUP_ID = ("Replication Group Msg Id", "Replication Group Message Id", "Replication Group Msg ID")
    IS_REPLICATED = ("Replicated",)
    CONTENT_SIZE = ("Content Size", "Content Size (B)", "Content Size (bytes)")
    ATTACHMENT_SIZE = ("Attachment Size", "Attachment Size (B)", "Attachment Size (bytes)")
    REDELIVERIES = ("Redeliveries", "Redelivery Count")
    PRIORITY = ("Priority",)
    DMQ_ELIGIBLE = ("DMQ Eligible",)
    # show transaction … detail (docs/sources/solace-procedure.md, controlled 4)
    XID = ("XID",)
    STATE = ("State", "Transaction State", "Current State")
    TRANSACTION_TYPE = ("Type", "Transaction Type")
    CLIENT = ("Client", "Client Name")
    PUBLISHED = ("Messages Published",)
    CONSUMED = ("Messages Consumed",)
    IN_STATE = ("Last State Change",)
    PUBLISHER_MESSAGES = ("Publisher Messages",)
    CONSUMER_MESSAGES = ("Consumer Messages",)
    # show redundancy (section 15)
    CONFIGURATION = ("Configuration Status",)
    REDUNDANCY = ("Redundancy Status",)
    MATE_ROUTER = ("Mate Router Name",)
    ADB_LINK = ("ADB Link To Mate",)
    ADB_HELLO = ("ADB Hello To Mate",)
    ACTIVITY = ("Activity Status",)
    SPOOL = ("Message Spool Status",)
    # show message-spool [detail] (section 7). The last one's printed label is an assumption.
    OPERATIONAL = ("Operational Status", "Oper Status")
    TRANSACTION_MODE = (
        "Transaction Replication Compatibility Mode",
        "Transaction Repl Compatibility Mode",
        "Replication Compatibility Mode",
    )
    # show service (section 3), show interface (section 18)
    BACKBONE = ("Msg-Backbone", "Message Backbone")
    INTERFACE = ("Interface",)
    IS_ENABLED = ("Enabled",)
    # show replication (section 4), show config-sync (section 5), show version (section 1)
    REPLICATION_MATE = ("Replication Mate",)
    ADMIN = ("Admin Status", "Admin State")
    LOAD = ("Current load is",)
    # show message-vpn … detail (section 8)
    CONNECTIONS = ("Active Incoming Connections",)

    def __init__(self, *names: str) -> None:
        self._printed = names
        self._names = tuple(dict.fromkeys(plain(name) for name in names))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of this value in all versions, as they are printed."""
        return self._printed

    def is_named(self, name: str) -> bool:
        """Is ``name`` one of the names of this value?"""
        return plain(name) in self._names

    def of(self, labels: Mapping[str, Value]) -> Value | None:
        """The value in ``labels``, whose keys are plain names; None if ``labels`` has no name of this value."""
        return next((labels[name] for name in self._names if name in labels), None)


def labels_in(lines: Sequence[str]) -> dict[str, str]:
    """The values of the labels at the left edge, by plain name. If a name repeats, the first value counts.

    ``detail`` repeats some labels, indented, for a part of what is shown.
    """
    found: dict[str, str] = {}
    labels: list[Label] = [label for label in map(label_in, lines) if label is not None]
    edge = min((label.indent for label in labels), default=0)
    for label in labels:
        if label.indent == edge:
            found.setdefault(plain(label.name), label.value)
    return found

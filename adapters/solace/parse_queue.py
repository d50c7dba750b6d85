"""``show queue #MSGVPN_REPLICATION_DATA_QUEUE …`` as values (seed 003 step 3, facts/solace.md section 3.3).

The depth is "Current Messages Spooled" and nothing else. An answer without that label is not a depth of 0.

Assumption: the label of the quota, which no source prints: ``Max Spool Usage (MB)``, as the command that sets it, or
``Quota (MB)``, as SEMP v1 calls it. In the same way ``Reject Msg To Sender On Discard``, written as the command that
sets it. What has neither is unknown: no move depends on it, and ``failover watch`` says that it cannot suspend.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from adapters.solace.refusals import is_refusal_line, unreadable
from adapters.solace.tables import label_in, lines_of
from orchestrator.readings import QueueDepth

REPLICATION_QUEUE = "#MSGVPN_REPLICATION_DATA_QUEUE"

_NAME, _VPN, _DEPTH, _USAGE = "Name", "Message VPN", "Current Messages Spooled", "Current Spool Usage (MB)"
_QUOTAS = ("Max Spool Usage (MB)", "Quota (MB)")
_REJECTS = "Reject Msg To Sender On Discard"
_WANTED = {_NAME, _VPN, _DEPTH, _USAGE, _REJECTS, *_QUOTAS}
_SAID = {"yes": True, "enabled": True, "no": False, "disabled": False}
_COUNT = re.compile(r"\d{1,18}", re.ASCII)
_NUMBER = re.compile(r"\d{1,18}(?:\.\d{1,18})?", re.ASCII)


def parse_queues(text: str, device: str = "") -> dict[str, QueueDepth]:
    """The depth of each message VPN's replication queue in the answer, by message VPN; at least one.

    Raises ``CommandRejected``, ``NoSuchService`` or ``UnreadableReply``.
    """
    blocks = _blocks(text, device)
    if not blocks:
        raise unreadable("it shows no queue", text, device)
    depths: dict[str, QueueDepth] = {}
    for block in blocks:
        vpn, depth = block.get(_VPN, ""), block.get(_DEPTH, "")
        if block[_NAME] != REPLICATION_QUEUE or not vpn or vpn in depths:
            raise unreadable("it does not show one replication queue for each message VPN", text, device)
        if _COUNT.fullmatch(depth) is None:
            raise unreadable(f"no number of '{_DEPTH}' for {vpn}", text, device)
        quota = next((block[label] for label in _QUOTAS if label in block), "")
        depths[vpn] = QueueDepth(
            messages=int(depth),
            usage_mb=_number(block.get(_USAGE, "")),
            quota_mb=_number(quota),
            rejects_on_discard=_SAID.get(block.get(_REJECTS, "").lower()),
        )
    return depths


def _blocks(text: str, device: str) -> list[Mapping[str, str]]:
    """The labels of each queue; a queue begins with its name, as far left as the first one does."""
    blocks: list[dict[str, str]] = []
    indent = 0
    for line in lines_of(text):
        if is_refusal_line(line):
            raise unreadable(f"an error between the labels: '{line.strip()}'", text, device)
        label = label_in(line)
        if label is None or label.name not in _WANTED:
            continue
        if label.name == _NAME and (not blocks or label.indent == indent):
            blocks.append({_NAME: label.value})
            indent = label.indent
        elif label.name != _NAME and blocks and blocks[-1].setdefault(label.name, label.value) != label.value:
            raise unreadable(f"'{label.name}' comes twice with different values", text, device)
    return list(blocks)


def _number(value: str) -> float | None:
    return float(value) if _NUMBER.fullmatch(value) else None

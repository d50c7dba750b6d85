"""``show queue #MSGVPN_REPLICATION_DATA_QUEUE …`` as values (docs/sources/solace-procedure.md, controlled 3;
docs/sources/solace.md, 3.3).

The depth is "Current Messages Spooled" and nothing else. An answer without that label is not a depth of 0.

If the label of the quota or of discarding is missing, its value is unknown. No move depends on these values, and
``failover watch`` says that it cannot suspend. ``labels`` has the names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from adapters.solace.labels import Term, plain
from adapters.solace.reading_models import QueueDepth
from adapters.solace.refusals import is_refusal_line, unreadable
from adapters.solace.tables import label_in, lines_of

REPLICATION_QUEUE = "#MSGVPN_REPLICATION_DATA_QUEUE"

_WANTED = (Term.QUEUE_NAME, Term.MESSAGE_VPN, Term.DEPTH, Term.USAGE_MB, Term.QUOTA_MB, Term.REJECTS)
_SAID = {"yes": True, "enabled": True, "no": False, "disabled": False}
_COUNT = re.compile(r"\d{1,18}", re.ASCII)
_NUMBER = re.compile(r"\d{1,18}(?:\.\d{1,18})?", re.ASCII)

Block = dict[Term, str]


def parse_queues(text: str, device: str = "") -> dict[str, QueueDepth]:
    """The depth of each message VPN's replication queue in the answer, by message VPN; at least one.

    Raises ``CommandRejected``, ``NoSuchService`` or ``UnreadableReply``.
    """
    blocks = _blocks(text, device)
    if not blocks:
        raise unreadable("it shows no queue", text, device)
    depths: dict[str, QueueDepth] = {}
    for block in blocks:
        vpn, depth = block.get(Term.MESSAGE_VPN, ""), block.get(Term.DEPTH, "")
        if block[Term.QUEUE_NAME] != REPLICATION_QUEUE or not vpn or vpn in depths:
            raise unreadable("it does not show exactly one replication queue for each message VPN", text, device)
        if _COUNT.fullmatch(depth) is None:
            raise unreadable(f"it has no number for 'Current Messages Spooled' of {vpn}", text, device)
        depths[vpn] = QueueDepth(
            messages=int(depth),
            usage_mb=_number(block.get(Term.USAGE_MB, "")),
            quota_mb=_number(block.get(Term.QUOTA_MB, "")),
            rejects_on_discard=_SAID.get(plain(block.get(Term.REJECTS, ""))),
        )
    return depths


def _blocks(text: str, device: str) -> list[Mapping[Term, str]]:
    """The labels of each queue; a queue starts with its name, as far left as the first one does."""
    blocks: list[Block] = []
    indent = 0
    for line in lines_of(text):
        if is_refusal_line(line):
            raise unreadable(f"it has an error message between the labels: '{line.strip()}'", text, device)
        label = label_in(line)
        term = None if label is None else _term(label.name)
        if label is None or term is None:
            continue
        if term is Term.QUEUE_NAME and (not blocks or label.indent == indent):
            blocks.append({Term.QUEUE_NAME: label.value})
            indent = label.indent
        elif term is not Term.QUEUE_NAME and blocks and blocks[-1].setdefault(term, label.value) != label.value:
            raise unreadable(f"the label '{label.name}' appears twice with different values", text, device)
    return list(blocks)


def _term(name: str) -> Term | None:
    return next((term for term in _WANTED if term.is_named(name)), None)


def _number(value: str) -> float | None:
    return float(value) if _NUMBER.fullmatch(value) else None

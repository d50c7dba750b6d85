"""``show transaction …`` as values, in its table form and its ``detail`` form (seed 003 step 4, facts section 3.4).

Only the table form can say that there are no transactions: it then has a header and no rows. The ``detail`` form
says nothing at all then, which is no answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from adapters.solace.refusals import is_refusal_line, unreadable
from adapters.solace.tables import Span, cut, label_in, letters_in, lines_of, rule_in
from orchestrator.readings import Transaction, TransactionState

_TYPES: Mapping[str, Literal["xa", "local"]] = {"X": "xa", "L": "local", "XA": "xa", "LOCAL": "local"}
_STATES = {state.name[0]: state for state in TransactionState} | {state.name: state for state in TransactionState}
_YES = {"Y": True, "N": False, "Yes": True, "No": False}
_HEADER = re.compile(r"\s*Message VPN\s+[A-Z](?: [A-Z])*\s+Last State Change\s+Spooled")
_HEADER_ABOVE = re.compile(r"\s*XID\s+Messages")
_XID = re.compile(r"\S{1,300}")
_COUNT = re.compile(r"\d{1,18}", re.ASCII)
_AGE = re.compile(r"(?=\d)(?:(\d{1,9})d)?\s*(?:(\d{1,9})h)?\s*(?:(\d{1,9})m)?\s*(?:(\d{1,9})s)?", re.ASCII)
_SECTIONS = ("Publisher Messages", "Consumer Messages")


class Listed(NamedTuple):
    """A transaction, and the message VPN it belongs to."""

    vpn: str
    transaction: Transaction


def parse_transactions(text: str, device: str = "") -> tuple[Listed, ...]:
    """The transactions in the answer, in its order; none only if the table says so by having no rows.

    Raises ``CommandRejected``, ``NoSuchService`` or ``UnreadableReply``.
    """
    lines = lines_of(text)
    if any(line.lstrip().startswith("XID:") for line in lines):
        return tuple(_from_detail(lines, text, device))
    return tuple(_from_table(lines, text, device))


def _from_table(lines: list[str], text: str, device: str) -> Iterator[Listed]:
    at = next((i for i, line in enumerate(lines) if _HEADER.fullmatch(line)), None)
    if at is None or at == 0 or at + 1 >= len(lines) or not _HEADER_ABOVE.fullmatch(lines[at - 1]):
        raise unreadable("the table of transactions, or its rule, is missing", text, device)
    rule = rule_in(lines[at + 1])
    letters = letters_in(lines[at], rule) if rule else None
    if not rule or not letters or len(rule) < len(letters) + 3:
        raise unreadable("the header of the table and its rule do not fit together", text, device)
    spans = [rule[0], *letters.values(), *rule[-2:]]
    xid: str | None = None
    for line in lines[at + 2 :]:
        if line in (lines[at - 1], lines[at]) or rule_in(line) is not None:
            continue
        if xid is None:
            xid = line.strip()
            if _XID.fullmatch(xid) is None or is_refusal_line(line):
                raise unreadable(f"this is no XID: '{xid}'", text, device)
            continue
        row = _row(xid, line, spans, list(letters))
        if row is None:
            raise unreadable(f"this is no row of the table: '{line.strip()}'", text, device)
        yield row
        xid = None
    if xid is not None:
        raise unreadable(f"the table ends in the middle of {xid}", text, device)


def _row(xid: str, line: str, spans: list[Span], letters: list[str]) -> Listed | None:
    cells = cut(line, spans)
    if cells is None or not cells[0] or not _COUNT.fullmatch(cells[-1]):
        return None
    flag = dict(zip(letters, cells[1:], strict=False))
    if any(len(flag[letter]) != 1 for letter in letters):
        return None
    transaction = Transaction(
        xid=xid,
        type=_TYPES.get(flag.get("T", "")),
        state=_STATES.get(flag.get("S", "")),
        replicated=_YES.get(flag.get("R", "")),
        in_state_s=_seconds(cells[-2]),
    )
    return Listed(cells[0], transaction)


def _from_detail(lines: list[str], text: str, device: str) -> Iterator[Listed]:
    for block in _blocks(lines, text, device):
        xid, vpn, state = block["XID"], block.get("Message VPN"), block.get("State")
        if not (_XID.fullmatch(xid) and vpn and state):
            raise unreadable(f"XID, Message VPN or State of transaction '{xid}' is missing", text, device)
        client = block.get("Client", "")
        transaction = Transaction(
            xid=xid,
            type=_TYPES.get(block.get("Type", "")),
            state=_STATES.get(state),
            replicated=_YES.get(block.get("Replicated", "")),
            client=client if client not in ("", "N/A") else None,
            published=_count(block.get("Messages Published", "")),
            consumed=_count(block.get("Messages Consumed", "")),
            in_state_s=_seconds(block.get("Last State Change", "")),
        )
        yield Listed(vpn, transaction)


def _blocks(lines: list[str], text: str, device: str) -> Iterator[dict[str, str]]:
    """The labels of each transaction, which end where its tables of messages begin: what stands there is no label."""
    block: dict[str, str] | None = None
    in_table = True
    for line in lines:
        label = label_in(line)
        if label is not None and label.name == "XID":
            if not in_table:
                break
            if block is not None:
                yield block
            block, in_table = {"XID": label.value}, False
        elif block is None or in_table:
            continue
        elif is_refusal_line(line):
            raise unreadable(f"an error between the labels: '{line.strip()}'", text, device)
        elif label is not None and label.name in _SECTIONS:
            in_table = True
        elif label is not None and block.setdefault(label.name, label.value) != label.value:
            raise unreadable(f"'{label.name}' comes twice in transaction {block['XID']}", text, device)
    if block is None or not in_table:
        raise unreadable("a transaction ends before its tables of messages", text, device)
    yield block


def _count(value: str) -> int | None:
    return int(value) if _COUNT.fullmatch(value) else None


def _seconds(age: str) -> float | None:
    """``1s`` and ``0d 0h 0m 0s`` in seconds; None for any other way to write it."""
    found = _AGE.fullmatch(age)
    if found is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)

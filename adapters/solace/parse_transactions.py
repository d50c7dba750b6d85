"""``show transaction …`` as values, in its table form and its ``detail`` form (docs/sources/solace-procedure.md,
controlled 4; docs/sources/solace.md, 3.4).

A header without rows, or a sentence, means that there are no transactions. No source shows the output of that case. An
empty ``show queue`` prints neither header nor legend (docs/sources/solace-cli.md, 0.1), so an empty answer may also
mean that there are none. An empty answer alone is no proof: after ``is_silent`` the reader asks with a second, wider
form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from adapters.solace.labels import Term, plain
from adapters.solace.reading_models import Transaction, TransactionState
from adapters.solace.refusals import is_refusal_line, unreadable
from adapters.solace.tables import Span, cut, label_in, letters_in, lines_of, rule_in

_TYPES: Mapping[str, Literal["xa", "local"]] = {"X": "xa", "L": "local", "XA": "xa", "LOCAL": "local"}
_STATES = {state.name[0]: state for state in TransactionState} | {state.name: state for state in TransactionState}
# Documents also write "heuristically-committed" and "heuristically rolled back"; the legend has only Complete.
_COMPLETED = re.compile(r"complete[d]?|heuristic.*", re.IGNORECASE)
_YES = {"Y": True, "N": False, "YES": True, "NO": False}
_HEADER = re.compile(r"\s*Message[ -]VPN\s+[A-Z](?: [A-Z])*\s+Last State Change\s+Spooled", re.IGNORECASE)
_HEADER_ABOVE = re.compile(r"\s*XID\s+Messages", re.IGNORECASE)
_NOTHING = re.compile(
    r"\s*(?:(?:no|0) (?:matching )?(?:transactions?|entries|rows|objects)(?: (?:were )?found)?|nothing found|none)"
    r"(?: to display)?\s*\.?\s*",
    re.IGNORECASE,
)
_XID = re.compile(r"\S{1,300}")
_COUNT = re.compile(r"\d{1,18}", re.ASCII)
_AGE = re.compile(r"(?=\d)(?:(\d{1,9})d)?\s*(?:(\d{1,9})h)?\s*(?:(\d{1,9})m)?\s*(?:(\d{1,9})s)?", re.ASCII)
_SECTIONS = (Term.PUBLISHER_MESSAGES, Term.CONSUMER_MESSAGES)


class Listed(NamedTuple):
    """A transaction, and the message VPN to which it belongs."""

    vpn: str
    transaction: Transaction


def parse_transactions(text: str, device: str = "") -> tuple[Listed, ...]:
    """The transactions in the answer, in its order. The result is empty only if the answer says so, by a table without
    rows or in a sentence.

    Raises ``CommandRejected``, ``NoSuchService``, ``NotServing`` or ``UnreadableReply``; the last one also for an answer
    that ``is_silent``.
    """
    lines = lines_of(text)
    if len(lines) == 1 and _NOTHING.fullmatch(lines[0]):
        return ()
    if any(line.lstrip().upper().startswith("XID:") for line in lines):
        return tuple(_from_detail(lines, text, device))
    return tuple(_from_table(lines, text, device))


def is_silent(text: str) -> bool:
    """Is nothing printed between the command and the prompt?"""
    return not lines_of(text)


def _from_table(lines: list[str], text: str, device: str) -> Iterator[Listed]:
    at = next((i for i, line in enumerate(lines) if _HEADER.fullmatch(line)), None)
    if at is None or at == 0 or at + 1 >= len(lines) or not _HEADER_ABOVE.fullmatch(lines[at - 1]):
        raise unreadable("the table of transactions, or the line under its header, is missing", text, device)
    rule = rule_in(lines[at + 1])
    letters = letters_in(lines[at], rule) if rule else None
    if not rule or not letters or len(rule) < len(letters) + 3:
        raise unreadable("the header of the table does not match the line under it", text, device)
    spans = [rule[0], *letters.values(), *rule[-2:]]
    xid: str | None = None
    for line in lines[at + 2 :]:
        if line in (lines[at - 1], lines[at]) or rule_in(line) is not None:
            continue
        if xid is None:
            xid = line.strip()
            if _XID.fullmatch(xid) is None or is_refusal_line(line):
                raise unreadable(f"this is not an XID: '{xid}'", text, device)
            continue
        row = _row(xid, line, spans, list(letters))
        if row is None:
            raise unreadable(f"this line is not a row of the table: '{line.strip()}'", text, device)
        yield row
        xid = None
    if xid is not None:
        raise unreadable(f"the table ends within the row of {xid}", text, device)


def _row(xid: str, line: str, spans: list[Span], letters: list[str]) -> Listed | None:
    cells = cut(line, spans)
    if cells is None or not cells[0] or not _COUNT.fullmatch(cells[-1]):
        return None
    flag = dict(zip(letters, cells[1:], strict=False))
    if any(len(flag[letter]) != 1 for letter in letters):
        return None
    transaction = Transaction(
        xid=xid,
        type=_TYPES.get(flag.get("T", "").upper()),
        state=_state(flag.get("S", "")),
        replicated=_YES.get(flag.get("R", "").upper()),
        in_state_s=_seconds(cells[-2]),
    )
    return Listed(cells[0], transaction)


def _state(word: str) -> TransactionState | None:
    return TransactionState.COMPLETE if _COMPLETED.fullmatch(word) else _STATES.get(word.upper())


def _from_detail(lines: list[str], text: str, device: str) -> Iterator[Listed]:
    for block in _blocks(lines, text, device):
        xid, vpn, state = Term.XID.of(block) or "", Term.MESSAGE_VPN.of(block), Term.STATE.of(block)
        if not (_XID.fullmatch(xid) and vpn and state):
            raise unreadable(f"XID, Message VPN or State of transaction '{xid}' is missing", text, device)
        client = Term.CLIENT.of(block) or ""
        transaction = Transaction(
            xid=xid,
            type=_TYPES.get((Term.TRANSACTION_TYPE.of(block) or "").upper()),
            state=_state(state),
            replicated=_YES.get((Term.IS_REPLICATED.of(block) or "").upper()),
            client=client if client not in ("", "N/A") else None,
            published=_count(Term.PUBLISHED.of(block) or ""),
            consumed=_count(Term.CONSUMED.of(block) or ""),
            in_state_s=_seconds(Term.IN_STATE.of(block) or ""),
        )
        yield Listed(vpn, transaction)


def _blocks(lines: list[str], text: str, device: str) -> Iterator[dict[str, str]]:
    """The plain labels of each transaction. They end where its tables of messages start, which contain no labels."""
    block: dict[str, str] | None = None
    in_table = True
    for line in lines:
        label = label_in(line)
        if label is not None and Term.XID.is_named(label.name):
            if not in_table:
                break
            if block is not None:
                yield block
            block, in_table = {plain(label.name): label.value}, False
        elif block is None or in_table:
            continue
        elif is_refusal_line(line):
            raise unreadable(f"it has an error message between the labels: '{line.strip()}'", text, device)
        elif label is not None and any(section.is_named(label.name) for section in _SECTIONS):
            in_table = True
        elif label is not None and block.setdefault(plain(label.name), label.value) != label.value:
            raise unreadable(
                f"the label '{label.name}' appears twice in transaction {Term.XID.of(block)}", text, device
            )
    if block is None or not in_table:
        raise unreadable("it ends before the message tables of a transaction", text, device)
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

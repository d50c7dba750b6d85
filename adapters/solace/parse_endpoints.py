"""``show queue *`` and ``show topic-endpoint *`` as values, and the messages of one endpoint.

docs/sources/solace-cli.md, 10, 12 and 13. A row starts with the endpoint's name alone. Then comes its message VPN with
the numbers. The numbers are read from the right, because names contain blanks and no source shows how long names are
wrapped. Assumptions: topic endpoints have the table of queues, and messages are shown by labels (``labels`` has their
names). No source prints either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from adapters.solace.labels import Term, labels_in, plain
from adapters.solace.parse_platform import moment_in
from adapters.solace.refusals import is_refusal_line, unreadable
from adapters.solace.tables import label_in, lines_of, rule_in

_HEADER = re.compile(
    r"\s*Message[ -]VPN\s+Spooled\s+Usage ?\(MB\)\s+HWM ?\(MB\)\s+Count((?: [A-Z])+)\s*", re.IGNORECASE
)
_NUMBERS = re.compile(
    r"(?P<vpn>.*?)\s+(?P<messages>\d{1,18})\s+\d{1,18}\.\d+\s+\d{1,18}\.\d+\s+\d{1,9}((?: [A-Z-])+)\s*"
)
_VPN_WIDTH = 25  # characters of its column; a longer name may be cut
_COUNT = re.compile(r"\d{1,18}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Row:
    """One endpoint of the table; ``is_durable`` None where the table does not show it."""

    name: str
    vpn: str
    messages: int
    is_durable: bool | None


def parse_endpoints(text: str, device: str = "") -> list[Row]:
    """The rows of the table. Raises ``AdapterError``, also for an answer without the table: it does not mean "no
    endpoint"."""
    lines = lines_of(text)
    at = next((i for i, line in enumerate(lines) if _HEADER.fullmatch(line)), None)
    if at is None or at + 1 >= len(lines) or rule_in(lines[at + 1]) is None:
        raise unreadable("the table of endpoints, or the line under its header, is missing", text, device)
    header = _HEADER.fullmatch(lines[at])
    letters = header[1].upper().split() if header is not None else []
    repeated = set(lines[max(at - 1, 0) : at + 2])
    rows: list[Row] = []
    names: list[str] = []
    for line in lines[at + 2 :]:
        found = _NUMBERS.fullmatch(line)
        if is_refusal_line(line) or (found is not None and not names):
            raise unreadable(f"this line is not a row of the table: '{line.strip()}'", text, device)
        if found is None:
            names += [] if line in repeated else [line]
            continue
        flags = dict(zip(letters, found[3].split(), strict=False))
        name, vpn = _names(names, found["vpn"])
        rows.append(Row(name, vpn, int(found["messages"]), {"D": True, "N": False}.get(flags.get("D", ""))))
        names = []
    if names:
        raise unreadable(f"the table ends within the row of {names[0].strip()}", text, device)
    return rows


def _names(above: Sequence[str], cell: str) -> tuple[str, str]:
    """Endpoint and message VPN of a row. In other outputs, the CLI continues a long name after two blanks of indent."""
    name, *more = above
    continued = [line for line in more if line.startswith("  ")]
    others = [line for line in more if not line.startswith("  ")]
    return "".join(part.strip() for part in (name, *continued)), "".join(part.strip() for part in (*others, cell))


def is_of(row: Row, vpn: str) -> bool:
    """Does ``row`` belong to message VPN ``vpn``, the name that the command asked for?"""
    return row.vpn == vpn or (len(row.vpn) >= _VPN_WIDTH and vpn.startswith(row.vpn))


@dataclass(frozen=True, slots=True)
class Message:
    """One message in an endpoint. A value that is not shown is None. ``spooled_at``: seconds since the epoch, by the
    broker's clock; ``size`` in bytes."""

    number: int | None
    spooled_at: float | None
    group_id: str | None = None
    replicated: str | None = None
    size: int | None = None
    redeliveries: int | None = None
    priority: int | None = None
    dmq_eligible: bool | None = None


def parse_messages(text: str, device: str = "") -> list[Message]:
    """The messages that are shown by labels, in their order. Raises ``AdapterError`` where no message is recognised."""
    lines = lines_of(text)
    messages = [_message(block) for block in _blocks(lines, text, device)]
    if not messages:
        raise unreadable("it shows no message with a known label", text, device)
    return messages


def _blocks(lines: Sequence[str], text: str, device: str) -> Iterator[Mapping[str, str]]:
    """The labels of each message. A message starts with its id."""
    starts = [
        number
        for number, line in enumerate(lines)
        if (label := label_in(line)) is not None and Term.MESSAGE_ID.is_named(label.name)
    ]
    if any(is_refusal_line(line) for line in lines):
        raise unreadable("it has an error message between the labels", text, device)
    for start, end in pairwise([*starts, len(lines)]):
        yield labels_in(lines[start:end])


def _message(labels: Mapping[str, str]) -> Message:
    sizes = [size for term in (Term.CONTENT_SIZE, Term.ATTACHMENT_SIZE) if (size := _count(term, labels)) is not None]
    return Message(
        number=_count(Term.MESSAGE_ID, labels),
        spooled_at=moment_in(Term.SPOOLED_AT.of(labels) or ""),
        group_id=Term.GROUP_ID.of(labels) or None,
        replicated=plain(Term.IS_REPLICATED.of(labels) or "") or None,
        size=sum(sizes) if sizes else None,
        redeliveries=_count(Term.REDELIVERIES, labels),
        priority=_count(Term.PRIORITY, labels),
        dmq_eligible={"yes": True, "no": False}.get(plain(Term.DMQ_ELIGIBLE.of(labels) or "")),
    )


def _count(term: Term, labels: Mapping[str, str]) -> int | None:
    value = term.of(labels) or ""
    return int(value) if _COUNT.fullmatch(value) else None

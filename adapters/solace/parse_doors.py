"""``show service``, ``show interface`` and ``show client`` as values: whether clients can connect, and how many are
connected.

docs/sources/solace-cli.md, 3, 16 and 18. An open message backbone is ``Enabled``. No source shows the word for a closed
backbone. So any other word counts as closed only if no messaging service operates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from adapters.solace.labels import Term, labels_in, plain
from adapters.solace.refusals import is_refusal_line, unreadable
from adapters.solace.tables import Span, label_in, lines_of, rule_in

# Services that are not for clients, and that also operate behind a closed backbone.
_MANAGEMENT = frozenset({"semp", "matelink", "healthchk", "redundancy", "ssh"})
_SERVICES = re.compile(r"\s*Service\s+TP\s.*\sA O\s.*", re.IGNORECASE)
_OPERATES = {"U": True, "D": False, "-": False}
_ENABLED = {"yes": True, "enabled": True, "no": False, "disabled": False}
_CLIENTS = re.compile(r"\s*Client Name\s+# Subs\s+Message VPN.*", re.IGNORECASE)
_SECTION = re.compile(r"\s*(Primary|Backup|Internal) Virtual Router:", re.IGNORECASE)
_COUNT = re.compile(r"\d{1,9}", re.ASCII)


def parse_backbone(text: str, device: str = "") -> bool | None:
    """Does the message backbone let clients in? None where the word is not ``Enabled`` and a messaging service may
    operate, or the services are not shown. Raises ``AdapterError`` for an answer without the backbone."""
    lines = lines_of(text)
    word = Term.BACKBONE.of(labels_in(lines))
    if not word:
        raise unreadable("the label Msg-Backbone is missing", text, device)
    if plain(word) == "enabled":
        return True
    operating = list(_operating(lines))
    return False if operating and not any(one is not False for one in operating) else None


def _operating(lines: Sequence[str]) -> Iterator[bool | None]:
    """For each messaging service in the table: does it operate? None if unknown. Yields nothing without a table."""
    at = next((i for i, line in enumerate(lines) if _SERVICES.fullmatch(line)), None)
    rule = rule_in(lines[at + 1]) if at is not None and at + 1 < len(lines) else None
    if at is None or rule is None:
        return
    column = lines[at].upper().index(" A O ") + 3
    for line in lines[at + 2 :]:
        service = line[rule[0].start : rule[0].end].strip()
        if line == lines[at] or rule_in(line) is not None or not service or plain(service) in _MANAGEMENT:
            continue
        yield _OPERATES.get(line[column : column + 1])


def parse_interface(text: str, interface: str, device: str = "") -> bool | None:
    """Does ``interface`` let traffic through? None if that is not shown. Raises ``AdapterError`` for a refusal."""
    lines = lines_of(text)
    if any(is_refusal_line(line) for line in lines):
        raise unreadable(f"the answer does not show interface {interface}", text, device)
    is_shown = False
    for line in lines:
        label = label_in(line)
        if label is not None and Term.INTERFACE.is_named(label.name):
            is_shown = label.value == interface
        elif label is not None and is_shown and Term.IS_ENABLED.is_named(label.name):
            return _ENABLED.get(plain(label.value))
    return None


def parse_clients(text: str, device: str = "") -> int:
    """The number of connected clients. It excludes the node's own clients: those of the internal virtual router, and
    those whose names start with ``#``. Raises ``AdapterError`` for an answer without the table, which is not "no
    client"."""
    section, count, has_table = "", 0, False
    rule: Sequence[Span] = ()
    lines = lines_of(text)
    for number, line in enumerate(lines):
        found = _SECTION.fullmatch(line)
        if found is not None:
            section, rule = found[1].lower(), ()
        elif is_refusal_line(line):
            raise unreadable(f"the list of clients has an error message: '{line.strip()}'", text, device)
        elif _CLIENTS.fullmatch(line):
            rule = (rule_in(lines[number + 1]) if number + 1 < len(lines) else None) or ()
            has_table = has_table or bool(rule)
        elif rule and rule_in(line) is None:
            name = _first_line_of(line, rule)
            count += name is not None and section != "internal" and not name.startswith("#")
    if not has_table:
        raise unreadable("the table of clients, or the line under its header, is missing", text, device)
    return count


def _first_line_of(line: str, rule: Sequence[Span]) -> str | None:
    """The name in the first line of a row; None for a continuation line, which has no number of subscriptions."""
    if len(rule) < 3 or _COUNT.fullmatch(line[rule[1].start : rule[1].end].strip()) is None:
        return None
    return line[rule[0].start : rule[0].end].strip() or None


def parse_connections(text: str) -> int | None:
    """The active incoming connections of all message VPNs that ``show message-vpn * detail`` shows; None if one message
    VPN has no number, or if no message VPN is shown."""
    vpns, counts = 0, []
    for line in lines_of(text):
        label = label_in(line)
        if label is not None and Term.MESSAGE_VPN.is_named(label.name):
            vpns += 1
        elif label is not None and Term.CONNECTIONS.is_named(label.name) and _COUNT.fullmatch(label.value):
            counts.append(int(label.value))
    return sum(counts) if vpns and len(counts) == vpns else None

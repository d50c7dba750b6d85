"""``show message-vpn … replication`` as values (docs/sources/solace-procedure.md, controlled 1;
docs/sources/solace.md, 3.2).

The procedure prints the table in three forms that do not agree: a header of 8 letters over a rule of 9 columns, a
header with a ``W`` that its legend lacks, and a text that says ``S`` is ``Y`` where its row shows ``-``. So letters
and columns are taken from the header line. A letter or value that is not listed here is unknown. Where text and row
differ, the row counts.
"""

from __future__ import annotations

import re
from typing import Literal

from adapters.solace.labels import Term
from adapters.solace.reading_models import Bridge, ReplicationStatus
from adapters.solace.refusals import unreadable
from adapters.solace.tables import Span, cut, letters_in, lines_of, rule_in
from orchestrator.model.readings import Role

_HEADER = re.compile(r"\s*Message[ -]VPN\s+[A-Z](?: [A-Z])*", re.IGNORECASE)
_UP = {"U": True, "D": False}
_YES = {"Y": True, "N": False}
_ROLE = {"A": Role.ACTIVE, "S": Role.STANDBY}
_BRIDGE = {"U": Bridge.BOUND, "Q": Bridge.UNBOUND, "D": Bridge.DOWN}
_MODE: dict[str, Literal["sync", "async"]] = {"A": "async", "S": "sync"}


def parse_replication(text: str, device: str = "") -> dict[str, ReplicationStatus]:
    """The replication state of each message VPN in the table, by name.

    Raises ``CommandRejected``, ``NoSuchService`` or ``UnreadableReply``. A table without rows is readable and empty.
    """
    lines = lines_of(text)
    at = next((i for i, line in enumerate(lines) if _HEADER.fullmatch(line)), None)
    if at is None or at + 1 >= len(lines):
        raise unreadable("the table of replication states, or the line under its header, is missing", text, device)
    header, rule = lines[at], rule_in(lines[at + 1])
    letters = letters_in(header, rule) if rule else None
    if not rule or not letters or not Term.MESSAGE_VPN.is_named(header[: rule[0].end]):
        raise unreadable("the header of the table does not match the line under it", text, device)
    rows: dict[str, ReplicationStatus] = {}
    for line in lines[at + 2 :]:
        if line == header or rule_in(line) is not None:
            continue
        row = _row(line, rule[0], letters)
        if row is None or rows.get(row[0], row[1]) != row[1]:
            raise unreadable(f"this line is not a row of the table: '{line.strip()}'", text, device)
        rows[row[0]] = row[1]
    return rows


def _row(line: str, name: Span, letters: dict[str, Span]) -> tuple[str, ReplicationStatus] | None:
    cells = cut(line, [name, *letters.values()])
    if cells is None or not cells[0] or any(len(cell) != 1 for cell in cells[1:]):
        return None
    flag = dict(zip(letters, cells[1:], strict=True))
    status = ReplicationStatus(
        enabled=_UP.get(flag.get("A", "")),
        role=_ROLE.get(flag.get("C", "")),
        bridge=_BRIDGE.get(flag.get("B", "")),
        remote_bridge_up=_UP.get(flag.get("R", "")),
        queue_bound=_UP.get(flag.get("Q", "")),
        sync_eligible=_YES.get(flag.get("S", "")),
        reject_when_ineligible=_YES.get(flag.get("M", "")),
        transaction_mode=_MODE.get(flag.get("T", "")),
    )
    return cells[0], status

"""One session with a node, as a plan shows it: each line, with the prompt at which it is typed.

It follows ``adapters.ssh.session`` and ``actions``: the lines that a log-in sends first, and how modes are left and
entered.
"""

from __future__ import annotations

from collections.abc import Sequence

from adapters.solace.dialect import SOLACE
from adapters.solace.names import router_name
from orchestrator.family.contract import Typed

# The mode that a line enters, by the mode in which the line is typed and the first word of the line.
_DOORS = {
    ("", "configure"): "configure",
    ("", "admin"): "admin",
    ("configure", "message-vpn"): "configure/message-vpn",
    ("configure", "interface"): "configure/interface",
    ("configure/message-vpn", "replication"): "configure/message-vpn/replication",
    ("configure/message-vpn/replication", "queue"): "configure/message-vpn/replication/queue",
    ("admin", "message-spool"): "admin/message-spool",
}
_WHO_SERVES = "show redundancy"


def mode_behind(mode: str, line: str) -> str:
    """The mode that ``line`` enters when it is typed in ``mode`` (docs/sources/solace-cli.md, 21). Raises ``KeyError``
    for a line that enters no mode."""
    return _DOORS[mode, line.split()[0]]


class Dialogue:
    """One session, starting with its log-in. ``name``: the node's own name, which its prompt shows."""

    def __init__(self, name: str) -> None:
        self._name = router_name(name)
        self._mode = ""
        self._is_privileged = self._is_open = False

    def read(self, lines: Sequence[str]) -> list[Typed]:
        """The lines of a reading. ``show`` works in every mode, so no mode is left for it."""
        return [*self._log_in(), *(self._type(line, changes=False) for line in lines)]

    def change(self, lines: Sequence[str], *, asks_who_serves: bool) -> list[Typed]:
        """The lines of a change: leave the mode, enter the modes that lead to it, then the line that changes
        something."""
        typed = self.read([_WHO_SERVES] if asks_who_serves else [])
        if self._mode:
            typed.append(self._type(SOLACE.top, changes=True))
            self._mode = ""
        if not self._is_privileged:
            typed.append(self._type(SOLACE.enable, changes=True))
            self._is_privileged = True
        *doors, change = lines
        for line in doors:
            typed.append(self._type(line, changes=True))
            self._mode = mode_behind(self._mode, line)
        return [*typed, self._type(change, changes=True)]

    def _log_in(self) -> list[Typed]:
        if self._is_open:
            return []
        self._is_open = True
        return [self._type(line, changes=False) for line in SOLACE.setup]

    def _type(self, line: str, *, changes: bool) -> Typed:
        mode = f"({self._mode})" if self._mode else ""
        return Typed(f"{self._name}{mode}{'#' if self._is_privileged else '>'}", line, changes)

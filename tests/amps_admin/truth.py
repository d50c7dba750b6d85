"""What is true of two scripted AMPS instances, and what became of it by whom: for the judge of ``proof.promises``.

They hold no messages, so nothing is said of any that are lost; one that is behind lacks at least one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.amps_admin.instance import ScriptedInstance

By = Literal["command", "somebody"]
_DOORS, _SYNC, _PROXIED = ("closed", "open"), ("async", "sync"), ("unproxied", "proxied")


@dataclass
class Truth:
    """Both instances by site, those that are ``away``, and a service's name. ``effects``: what was obeyed."""

    service: str
    instances: Mapping[str, ScriptedInstance]
    away: set[str]
    effects: list[list[Any]] = field(default_factory=list)
    changes: list[list[Any]] = field(default_factory=list)
    both_open: list[list[float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._known = {site: self._words(site) for site in self.instances}
        self._cut: dict[str, float] = {}
        self.notice("somebody", 0.0)

    def obeyed(self, site: str, action: str, target: str, now: float) -> None:
        """An instance did what it was asked."""
        self.effects.append([site, action, {"target": target}, 1])
        self.notice("command", now)

    def notice(self, by: By, now: float) -> None:
        """Whatever is otherwise than it was has been changed by ``by``."""
        for site in self.instances:
            words = self._words(site)
            new = [word for word, before in zip(words, self._known[site], strict=True) if word != before]
            self.changes += [[now, site, word, by] for word in new]
            self._known[site] = words
            if self._is_connected(site):
                self._cut.pop(site, None)
            else:
                self._cut.setdefault(site, now)
        is_open = all(self._serves(site) for site in self.instances)
        was_open = bool(self.both_open) and len(self.both_open[-1]) == 1
        if is_open and not was_open:
            self.both_open.append([now])
        elif was_open and not is_open:
            self.both_open[-1].append(now)

    def look(self, now: float) -> dict[str, Any]:
        """In the words of ``proof.promises``."""
        self.notice("somebody", now)
        return {
            "moment": now,
            "sites": {site: {"serves": site not in self.away} for site in self.instances},
            "services": {
                self.service: {
                    "instances": {site: self._instance(site) for site in self.instances},
                    "changes": [list(one) for one in self.changes],
                    "both_open": [[start, end[0] if end else now] for start, *end in self.both_open],
                    "effects": [list(one) for one in self.effects],
                }
            },
        }

    def _words(self, site: str) -> tuple[str, str, str]:
        one = self.instances[site]
        return (
            _DOORS[one.one("transports")["is_enabled"] == "1"],
            _SYNC[one.one("replication")["replication_type"] == "sync"],
            _PROXIED[one.one("queues")["proxied_transfer"] == "enabled"],
        )

    def _serves(self, site: str) -> bool:
        return site not in self.away and self._known[site][0] == "open"

    def _is_connected(self, site: str) -> bool:
        return bool(self.instances[site].one("replication")["is_connected"] == "1")

    def _instance(self, site: str) -> dict[str, Any]:
        one, is_away = self.instances[site], site in self.away
        doors, mode, proxied = self._known[site]
        journals = one.now["transaction_log"]["journals"]
        return {
            "phase": "down" if is_away else "running",
            "doors": [doors == "open" and not is_away],
            "takes_clients": self._serves(site),
            "clients": len(one.now["clients"]),
            "connected": self._is_connected(site),
            "cut_since": self._cut.get(site),
            "configured_sync": one.sync == "sync",
            "sync": mode == "sync",
            "empty": not any(journal["max_timestamp"] for journal in journals),
            "proxied": proxied == "proxied",
            "owned": int(one.one("queues")["owned"]),
            "ahead": int(one.one("replication")["seconds_behind"] != "0"),
            "sampled_at": one.sampled_at,
        }

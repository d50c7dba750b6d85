"""The shapes of a readiness check: what was read of a site, one check, and all checks of a pair."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from orchestrator.model.findings import Finding, Level
from orchestrator.model.inventory import Pair, Site
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading

# What is checked of each service and of each site, in the order in which it is shown.
SERVICE_CHECKS = ("roles", "bridge", "sync", "queue", "transactions")
SITE_CHECKS = (
    *("answers", "host keys", "ha", "mate", "version", "transaction mode", "config-sync", "access", "fence plan"),
    "clock",
)
# What has to be read for it.
READINGS = ("replication", "replication_queue", "transactions", "health", "platform")

Verdict = Literal["ok", "note", "warning", "error", "unknown"]


@dataclass(frozen=True, slots=True)
class SiteRead:
    """What one site said: by reading and service. ``host_keys``: by device, whether its SSH host key is known before
    it is met; None where no SSH is spoken."""

    site: Site
    answers: Mapping[str, Mapping[str, Reading | Failure]]
    host_keys: Mapping[str, bool] | None = None

    @property
    def name(self) -> str:
        """What the inventory calls the site."""
        return self.site.name

    @property
    def own_names(self) -> frozenset[str]:
        """The names that its nodes may have. A mate may be named as a virtual router: ``v:`` and the name."""
        named = {device.router_name.removeprefix("v:") for device in self.site.devices if device.router_name}
        return frozenset(named | {device.name for device in self.site.devices})

    def option(self, name: str) -> object:
        """An option of any of the site's adapters; None if none has it."""
        return next((part.options[name] for part in self.site.parts if name in part.options), None)

    def of(self, reading: str, service: str) -> Reading | Failure:
        """One answer; one that is missing is a failure too."""
        return self.answers.get(reading, {}).get(service) or _not_read(reading)

    def of_site(self, reading: str) -> Reading | Failure:
        """The answer to a reading that is about the site, whichever service it was asked with."""
        return next(iter(self.answers.get(reading, {}).values()), None) or _not_read(reading)


def _not_read(reading: str) -> Failure:
    return Failure(kind="UnreadableReply", text=f"{reading} was not read")


@dataclass(frozen=True, slots=True)
class Checked:
    """One check of one service, or of one site. ``detail`` is what was seen, in a few words; ``finding`` None: fine."""

    check: str
    detail: str
    service: str | None = None
    site: str | None = None
    finding: Finding | None = None

    @property
    def verdict(self) -> Verdict:
        """How it turned out; ``ok`` only for a check that was made."""
        return "ok" if self.finding is None else self.finding.level.value


@dataclass(frozen=True, slots=True)
class Readiness:
    """Everything checked of one pair. ``site_checks``, ``service_checks``: what there is, in the order shown."""

    pair: Pair
    checked: tuple[Checked, ...]
    site_checks: Sequence[str] = SITE_CHECKS
    service_checks: Sequence[str] = SERVICE_CHECKS

    @property
    def findings(self) -> list[Finding]:
        """All of them."""
        return [one.finding for one in self.checked if one.finding is not None]

    def findings_of(self, service: str) -> list[Finding]:
        """What concerns one service: about itself and about its sites."""
        return [one.finding for one in self.checked if one.service in (None, service) and one.finding is not None]


def is_good(findings: Iterable[Finding]) -> bool:
    """Was every check made, and does none stand in the way? A warning is worth knowing, and does not."""
    return all(finding.level not in (Level.ERROR, Level.UNKNOWN) for finding in findings)


def matter(findings: Iterable[Finding]) -> bool:
    """Is there anything beyond a note?"""
    return any(finding.level is not Level.NOTE for finding in findings)

"""Readiness: could this pair be moved now? The judge that a family may bring, and the shapes of its findings.

A check that could not be made is *unknown*, never good. A judge is pure: it takes readings and returns findings with
stable codes. It must never ask a device, and never guess a value that a device did not report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from orchestrator.model.findings import Finding, Level
from orchestrator.model.inventory import Pair, Site
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading

Verdict = Literal["ok", "note", "warning", "error", "unknown"]
ReadinessVerdict = Literal["ready", "ready, with warnings", "not ready", "unknown"]
# Failures that concern the whole site, and the code of each. Any other failure concerns one reading.
_SHUT_OUT = {
    "Unreachable": "site-unreachable",
    "ConnectionLost": "site-unreachable",
    "CommandTimedOut": "site-unreachable",
    "AuthenticationFailed": "login-refused",
    "HostKeyRejected": "host-key-rejected",
}


@dataclass(frozen=True, slots=True)
class SiteRead:
    """The answers of one site, by reading and service. ``host_keys``: by device, whether its SSH host key is known
    before the first session; None if no SSH is used."""

    site: Site
    answers: Mapping[str, Mapping[str, Reading | Failure]]
    host_keys: Mapping[str, bool] | None = None

    @property
    def name(self) -> str:
        """The name of the site in the inventory."""
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
        """One answer. A missing answer is a failure too."""
        return self.answers.get(reading, {}).get(service) or _not_read(reading)

    def of_site(self, reading: str) -> Reading | Failure:
        """The answer to a reading about the whole site. The service of the request does not matter."""
        return next(iter(self.answers.get(reading, {}).values()), None) or _not_read(reading)


def _not_read(reading: str) -> Failure:
    return Failure(kind="UnreadableReply", text=f"{reading} was not read")


@dataclass(frozen=True, slots=True)
class Checked:
    """One check of one service, or of one site. ``detail``: the observed value in a few words. ``finding`` None:
    fine."""

    check: str
    detail: str
    service: str | None = None
    site: str | None = None
    finding: Finding | None = None

    @property
    def verdict(self) -> Verdict:
        """The result of the check; ``ok`` only for a check that was made."""
        return "ok" if self.finding is None else self.finding.level.value


@dataclass(frozen=True, slots=True)
class Readiness:
    """All checks of one pair. ``site_checks``, ``service_checks``: the names of the checks, in the order shown."""

    pair: Pair
    checked: tuple[Checked, ...]
    site_checks: Sequence[str]
    service_checks: Sequence[str]

    @property
    def verdict(self) -> ReadinessVerdict:
        """Could every service be moved now? Unknown if nothing prevents a move, but not everything is known."""
        levels = {finding.level for finding in self.findings}
        if Level.ERROR in levels:
            return "not ready"
        return (
            "unknown" if Level.UNKNOWN in levels else "ready, with warnings" if Level.WARNING in levels else "ready"
        )

    def could_move(self, service: str) -> bool:
        """Could this service be moved now, as far as it and its sites were checked?"""
        return is_good(self.findings_of(service))

    @property
    def findings(self) -> list[Finding]:
        """All findings."""
        return [one.finding for one in self.checked if one.finding is not None]

    def findings_of(self, service: str) -> list[Finding]:
        """The findings that concern one service: about itself and about its sites."""
        return [one.finding for one in self.checked if one.service in (None, service) and one.finding is not None]


@dataclass(frozen=True, slots=True)
class Validated:
    """The result for one service of validating the configurations of both ends. ``why``: the reason if there was no
    validation."""

    errors: Sequence[str] = ()
    risks: Sequence[str] = ()
    undecided: Sequence[str] = ()
    why: str = ""


# Validates the configurations of the pair, by service. It asks the devices, so only a judge that needs it calls it.
Validate = Callable[[], Mapping[str, Validated]]


@dataclass(frozen=True, slots=True)
class ReadinessJudge:
    """``readings``: the readings that the judge needs of both sites. ``judge``: makes every check of the pair from
    them."""

    readings: Sequence[str]
    judge: Callable[[Pair, tuple[SiteRead, SiteRead], Validate], Readiness]


def is_good(findings: Iterable[Finding]) -> bool:
    """Was every check made, and does no finding prevent a move? A warning does not prevent it."""
    return all(finding.level not in (Level.ERROR, Level.UNKNOWN) for finding in findings)


def matter(findings: Iterable[Finding]) -> bool:
    """Is there a finding above the level of a note?"""
    return any(finding.level is not Level.NOTE for finding in findings)


def is_shut_out(failure: Failure) -> bool:
    """Does the failure concern every reading of the site, and not only one?"""
    return failure.kind in _SHUT_OUT


def answers_of(site: SiteRead, readings: Sequence[str]) -> Checked:
    """The check whether the site answered any of ``readings``."""
    answers = [answer for reading in readings for answer in site.answers.get(reading, {}).values()]
    if not answers:
        return cannot(site, "answers", f"no reading was requested from {site.name}")
    failed = [answer for answer in answers if isinstance(answer, Failure) and answer.kind in _SHUT_OUT]
    if not failed:
        return Checked("answers", "yes", site=site.name)
    code, hint = _SHUT_OUT[failed[0].kind], failed[0].remedy(site.name)
    message = f"{site.name} could not be read: {failed[0].text}"
    return Checked("answers", "NO", site=site.name, finding=finding_of(Level.ERROR, code, message, hint))


def fence_plan_of(site: SiteRead) -> Checked:
    """The check whether the inventory says how clients are kept away from the site."""
    steps = site.site.fence
    text = f"the inventory does not say how clients are kept away from {site.name} when {site.name} fails"
    hint = "agree on a fence plan now, and write it into the inventory: sites.NAME.fence"
    finding = None if steps else finding_of(Level.WARNING, "no-fence-plan", text, hint)
    return Checked("fence plan", ", ".join(one.kind for one in steps) or "no plan", site=site.name, finding=finding)


def cannot(site: SiteRead, check: str, message: str) -> Checked:
    """A check of a site that could not be made, and why."""
    code = f"{check.replace(' ', '-')}-unknown"
    finding = finding_of(
        Level.UNKNOWN, code, message, "this check could not be made, so it proves nothing; make the check by hand"
    )
    return Checked(check, "unknown", site=site.name, finding=finding)


def finding_of(level: Level, code: str, message: str, hint: str) -> Finding:
    """A finding that belongs to no file."""
    return Finding(level=level, code=code, message=message, hint=hint)

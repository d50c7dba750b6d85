"""Could this pair be moved now? What a family that judges it of its own brings, and the shapes of what it finds.

A check that could not be made is *unknown*, never good. A judge is pure: readings in, findings with stable codes out. It
must never ask a device, and never guess what one did not report.
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
# What kept a site from answering, and what it means; any other failure is of one reading.
_SHUT_OUT = {
    "Unreachable": ("site-unreachable", "check its power, its network and the inventory's address"),
    "ConnectionLost": ("site-unreachable", "check its power, its network and the inventory's address"),
    "CommandTimedOut": ("site-unreachable", "check its power, its network and the inventory's address"),
    "AuthenticationFailed": ("login-refused", "fix the account or the secret that the inventory refers to"),
    "HostKeyRejected": ("host-key-rejected", "compare the fingerprint at the device's console before you trust it"),
}


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
    site_checks: Sequence[str]
    service_checks: Sequence[str]

    @property
    def verdict(self) -> ReadinessVerdict:
        """Could every service be moved now? Unknown where nothing prevents a move, and not everything is known."""
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
        """All of them."""
        return [one.finding for one in self.checked if one.finding is not None]

    def findings_of(self, service: str) -> list[Finding]:
        """What concerns one service: about itself and about its sites."""
        return [one.finding for one in self.checked if one.service in (None, service) and one.finding is not None]


@dataclass(frozen=True, slots=True)
class Validated:
    """What the validation of both ends' own configurations found of one service; ``why`` it could not be made."""

    errors: Sequence[str] = ()
    risks: Sequence[str] = ()
    undecided: Sequence[str] = ()
    why: str = ""


# Has the configurations of the pair validated, by service; only a judge that wants it calls it, for it asks the devices.
Validate = Callable[[], Mapping[str, Validated]]


@dataclass(frozen=True, slots=True)
class ReadinessJudge:
    """``readings``: what has to be read of both sites. ``judge``: every check of the pair, by what they report."""

    readings: Sequence[str]
    judge: Callable[[Pair, tuple[SiteRead, SiteRead], Validate], Readiness]


def is_good(findings: Iterable[Finding]) -> bool:
    """Was every check made, and does none are in the way? A warning is worth knowing, and does not."""
    return all(finding.level not in (Level.ERROR, Level.UNKNOWN) for finding in findings)


def matter(findings: Iterable[Finding]) -> bool:
    """Is there anything beyond a note?"""
    return any(finding.level is not Level.NOTE for finding in findings)


def is_shut_out(failure: Failure) -> bool:
    """Does it concern every reading of the site, and not only one?"""
    return failure.kind in _SHUT_OUT


def answers_of(site: SiteRead, readings: Sequence[str]) -> Checked:
    """Did the site answer at all, with any of ``readings``?"""
    answers = [answer for reading in readings for answer in site.answers.get(reading, {}).values()]
    if not answers:
        return cannot(site, "answers", f"nothing was asked of {site.name}")
    failed = [answer for answer in answers if isinstance(answer, Failure) and answer.kind in _SHUT_OUT]
    if not failed:
        return Checked("answers", "yes", site=site.name)
    code, hint = _SHUT_OUT[failed[0].kind]
    message = f"{site.name} could not be read: {failed[0].text}"
    return Checked("answers", "NO", site=site.name, finding=finding_of(Level.ERROR, code, message, hint))


def fence_plan_of(site: SiteRead) -> Checked:
    """Is it written down how clients are kept off the site?"""
    steps = site.site.fence
    text = f"nothing is written down on how clients are kept away from {site.name} when it fails"
    hint = "agree on it before it is needed, and write it into the inventory: sites.NAME.fence"
    finding = None if steps else finding_of(Level.WARNING, "no-fence-plan", text, hint)
    return Checked("fence plan", ", ".join(one.kind for one in steps) or "no plan", site=site.name, finding=finding)


def cannot(site: SiteRead, check: str, message: str) -> Checked:
    """A check of a site that could not be made, and why."""
    code = f"{check.replace(' ', '-')}-unknown"
    finding = finding_of(
        Level.UNKNOWN, code, message, "a check that could not be made proves nothing: make it by hand"
    )
    return Checked(check, "unknown", site=site.name, finding=finding)


def finding_of(level: Level, code: str, message: str, hint: str) -> Finding:
    """A finding of no file."""
    return Finding(level=level, code=code, message=message, hint=hint)

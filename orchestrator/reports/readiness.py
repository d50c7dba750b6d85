"""Judges by facets alone whether a pair is ready, for families without their own rules. Also states the age of a check.
Pure."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.ages import age
from orchestrator.core.pair_position import End, PairPosition, end_of, position_of
from orchestrator.counting import counted
from orchestrator.family.readiness import Checked, Readiness, SiteRead, answers_of
from orchestrator.journal.readiness_results import Checked as LastCheck
from orchestrator.model.families import Family
from orchestrator.model.findings import Finding, Level
from orchestrator.model.inventory import Pair
from orchestrator.model.other_manager import shows_only_a_manager

_SITE_CHECKS, _SERVICE_CHECKS = ("answers",), ("position", "link", "backlog")
_ACT = "check `failover status`, and repair the pair with the tools of its product"


def judge_facets(family: Family, pair: Pair, sites: tuple[SiteRead, SiteRead]) -> Readiness:
    """The readiness of a pair, judged by the facets that both of its ``sites`` reported."""
    own = [name for name in family.surveyed if not shows_only_a_manager(family.readings[name])]
    of_sites = [answers_of(site, own) for site in sites]
    of_services = [one for service in pair.services for one in _of_service(family, service, sites)]
    return Readiness(pair, (*of_sites, *of_services), _SITE_CHECKS, _SERVICE_CHECKS)


def not_judged(pair: Pair, why: str) -> Readiness:
    """The readiness of a pair whose family is unknown: one finding, and no checks of another family."""
    hint = "check the pair with the tools of its product; failover cannot know whether the pair could be moved"
    finding = Finding(level=Level.UNKNOWN, code="family-unknown", message=why, hint=hint)
    found = Checked("kind of service", "unknown", finding=finding)
    return Readiness(pair, (found,), site_checks=(), service_checks=())


def _of_service(family: Family, service: str, sites: tuple[SiteRead, SiteRead]) -> Iterator[Checked]:
    first, second = (end_of(family, site.name, site.answers, service) for site in sites)
    position = position_of(family, (first, second), service)
    serving = {
        "first": f"{first.site} serves",
        "second": f"{second.site} serves",
        "both": "both sites serve",
        "none": "no site serves",
        "unknown": "unknown",
    }[position.serving]
    yield Checked("position", serving, service=service, finding=_of_position(service, position))
    links = [one.link for one in (first, second)]
    link = "DOWN" if False in links else "up" if True in links else "unknown"
    yield Checked("link", link, service=service)
    yield Checked("backlog", ", ".join(map(_backlog, (first, second))), service=service)


def _backlog(end: End) -> str:
    if end.backlog is None:
        return f"{end.site} unknown"
    return f"{end.site} {counted(end.backlog, end.unit) if end.unit else f'{end.backlog:,}'}"


def _of_position(service: str, position: PairPosition) -> Finding | None:
    """The finding that prevents a planned move, in the words of ``failover status``, or None."""
    if position.is_good:
        return None
    word = position.word
    if word.startswith("unknown"):
        level, code = Level.UNKNOWN, "position-unknown"
    elif position.is_wrong:
        level, code = Level.ERROR, "position-wrong"
    else:
        level, code = Level.ERROR, "not-ready"
    return Finding(level=level, code=code, message=f"{service}: {word}", hint=_ACT)


def last_check_words(one: LastCheck | None, now: float) -> str:
    """The age of the last check in words, such as ``last good check 3 h ago``. If the last check was not good, also its
    age and its number of findings."""
    if one is None:
        return "never checked"
    if one.good_at == one.at:
        return f"last good check {age(now - one.at)}"
    bad = sum(finding.level in (Level.ERROR, Level.UNKNOWN) for finding in one.findings)
    good = "never found good" if one.good_at is None else f"last good check {age(now - one.good_at)}"
    return f"{good}; the last check, {age(now - one.at)}, found {counted(bad, 'blocking or unknown result')}"

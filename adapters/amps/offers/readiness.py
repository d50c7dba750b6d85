"""Judges whether the clients of an AMPS instance can be moved to its mate now. Readings of both in, findings out. Pure.

Sources: docs/sources/amps.md, 5 and 9.7 (validation, sync and async), 3.5 (bootstrap), 9 and 10: both links
connected and sync, nothing behind, proxied transfer off, room for the journals of an outage. The two instances are judged
together: a service gets the worse of the findings on its two ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from adapters.amps.reading_models import (
    Bootstrap,
    Instance,
    Links,
    Permissions,
    Queues,
    TransactionLog,
    Transports,
)
from orchestrator.ages import span
from orchestrator.family.readiness import (
    Checked,
    Readiness,
    ReadinessJudge,
    SiteRead,
    Validate,
    Validated,
    answers_of,
    fence_plan_of,
    finding_of,
    is_shut_out,
)
from orchestrator.model.findings import Finding, Level
from orchestrator.model.inventory import Pair
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading

READINGS = ("instance", "transports", "links", "queues", "transaction_log", "bootstrap", "permissions")
SERVICE_CHECKS = (
    "clients",
    "links",
    "lag",
    "queues",
    "journals",
    "bootstrap",
    "configuration",
    "instances",
    "access",
)
SITE_CHECKS = ("answers", "fence plan")

Read = TypeVar("Read")
_ORDER = (Level.ERROR, Level.UNKNOWN, Level.WARNING, Level.NOTE)
_AGAIN = "check again once the instance answers"


def judge(pair: Pair, sites: tuple[SiteRead, SiteRead], validate: Validate) -> Readiness:
    """Judge a pair by the readings of both ``sites``, and by the validation of their configurations."""
    validated = validate()
    of_sites = [one for site in sites for one in (answers_of(site, READINGS), fence_plan_of(site))]
    services: Sequence[Checked] = [
        one
        for service in pair.services
        for one in _of_service(service, sites, validated.get(service, Validated(why="no validation was made")))
    ]
    return Readiness(pair, (*of_sites, *services), SITE_CHECKS, SERVICE_CHECKS)


JUDGE = ReadinessJudge(READINGS, judge)


def _of_service(service: str, sites: tuple[SiteRead, SiteRead], validated: Validated) -> Iterator[Checked]:
    judges: Mapping[str, Callable[[str, SiteRead], Finding | None]] = {
        "links": _link,
        "lag": _lag,
        "queues": _queues,
        "journals": _journals,
        "access": _access,
    }
    yield _clients(service, sites)
    for check, judged in judges.items():
        yield _worst(check, service, [judged(service, site) for site in sites])
    yield _bootstrap(service, sites)
    silent = [site for site in sites if answers_of(site, READINGS).finding is not None]
    yield _configuration(service, validated, silent)
    yield _instances(service, sites)


def _worst(check: str, service: str, found: Sequence[Finding | None]) -> Checked:
    findings = sorted((one for one in found if one is not None), key=lambda one: _ORDER.index(one.level))
    if not findings:
        return Checked(check, "ok", service=service)
    return Checked(check, findings[0].code, service=service, finding=findings[0])


def _clients(service: str, sites: tuple[SiteRead, SiteRead]) -> Checked:
    told = {site.name: _of(site, "transports", service, Transports) for site in sites}
    words = ", ".join(f"{name} {_door(one)}" for name, one in told.items())
    finding: Finding | None = None
    unread = [(site, told[site.name]) for site in sites if _door(told[site.name]) == "unknown"]
    if all(_door(one) == "closed" for one in told.values()):
        text = f"{service}: neither instance lets clients in"
        finding = finding_of(
            Level.ERROR, "nobody-serves", text, "search for a run that stopped half-way: `failover runs list`"
        )
    elif any(_door(one) == "in part" for one in told.values()):
        text = f"{service}: some client transports are enabled and some are not ({words})"
        hint = "list the transports for clients as client_transports in the inventory, or correct their state"
        finding = finding_of(Level.WARNING, "clients-in-part", text, hint)
    elif unread:
        site, _ = unread[0]
        finding = _unknown(
            "clients", service, site, "transports", "the instance did not report the state of its transports"
        )
    return Checked("clients", words, service=service, finding=finding)


def _door(found: Transports | None) -> str:
    if found is None or (found.open is None and found.closed is None):
        return "unknown"
    return "open" if found.open else "closed" if found.closed else "in part"


def _link(service: str, site: SiteRead) -> Finding | None:
    links = _of(site, "links", service, Links)
    if links is None or links.to_mate() is None:
        return _unknown(
            "links",
            service,
            site,
            "links",
            "the link to the mate is not known; set `mate` in the options to its name",
        )
    ends = f"the link of {service} from {site.name} to its mate"
    wanted = site.option("link") == "sync"
    if links.connected is False:
        return finding_of(
            Level.ERROR,
            "link-not-connected",
            f"{ends} is not connected",
            "read the reason in the logs of both instances",
        )
    if links.downgraded:
        text = f"{ends} is downgraded: publishers do not wait for the mate, so the mate is not a fail-over target"
        return finding_of(Level.ERROR, "link-downgraded", text, "upgrade the link by `failover restore`, or by hand")
    if links.connected is None or links.sync is None:
        return _unknown("links", service, site, "links", "the instance did not report the whole state of the link")
    if links.sync is False and wanted:
        text = f"{ends} is async in its configuration, but the inventory says sync"
        return finding_of(
            Level.ERROR, "link-differs", text, "correct `link` in the inventory, or SyncType in the configuration"
        )
    if links.sync is False:
        text = f"{ends} is async: a loss of {site.name} can lose messages that were acknowledged to publishers"
        return finding_of(
            Level.NOTE, "link-async", text, "decide in advance who may accept that loss (--accept-loss)"
        )
    if not wanted:
        text = f"{ends} is sync, but the inventory says async: a run after a loss would assume that messages are lost"
        return finding_of(Level.WARNING, "link-unclaimed", text, "write `link: sync` into the site's options")
    return None


def _lag(service: str, site: SiteRead) -> Finding | None:
    links = _of(site, "links", service, Links)
    if links is None or links.behind_s is None:
        return _unknown("lag", service, site, "links", "the instance did not report how far the link is behind")
    if links.connected is False or links.behind_s == 0:
        return None  # a broken link has a separate finding, and its lag proves nothing
    text = f"the link of {service} from {site.name} is {links.behind_s:g}s behind"
    return finding_of(
        Level.WARNING,
        "link-behind",
        text,
        "check that this delay falls before you move the service; a planned move waits for the link",
    )


def _queues(service: str, site: SiteRead) -> Finding | None:
    queues = _of(site, "queues", service, Queues)
    if queues is None or queues.unproxied is None:
        return _unknown(
            "queues", service, site, "queues", "the instance did not report whether proxied transfer is on"
        )
    if queues.unproxied:
        return None
    text = f"proxied transfer is on for a queue of {service} at {site.name}: messages may be delivered twice"
    return finding_of(
        Level.ERROR,
        "proxied-transfer-on",
        text,
        "use proxied transfer only during a loss; `failover restore` turns it off",
    )


def _journals(service: str, site: SiteRead) -> Finding | None:
    log = _of(site, "transaction_log", service, TransactionLog)
    if log is None or log.survives is None:
        has_room = log is not None and log.capacity_bytes is not None
        why = (
            "the instance did not report its journals completely"
            if has_room
            else "write journal_capacity into the inventory"
        )
        return _unknown("journals", service, site, "transaction_log", why)
    if log.survives:
        return None
    assert log.survives_s is not None and log.outage_s is not None  # else ``survives`` would be None
    text = (
        f"the journals of {service} at {site.name} have space for an outage of the mate of {span(log.survives_s)}, but "
        f"the inventory asks for {span(log.outage_s)}"
    )
    return finding_of(
        Level.WARNING, "journal-headroom", text, "give the journals more disk space, or archive older ones elsewhere"
    )


def _access(service: str, site: SiteRead) -> Finding | None:
    may = _of(site, "permissions", service, Permissions)
    if may is not None and may.denied:
        text = f"{site.name} does not let the account do what a run of {service} needs: {may.denied[0]}"
        return finding_of(Level.ERROR, "action-denied", text, "entitle the account to /amps/administrator there")
    if may is None or may.granted is None:
        return _unknown(
            "access",
            service,
            site,
            "permissions",
            "the entitlement check gave no clear answer; see assume.check_segment in the options",
        )
    return None


def _bootstrap(service: str, sites: tuple[SiteRead, SiteRead]) -> Checked:
    told = [(site, _of(site, "bootstrap", service, Bootstrap)) for site in sites]
    waiting = [site for site, one in told if one is not None and one.waiting]
    unread = next((site for site, one in told if one is None or one.waiting is None), None)
    finding: Finding | None = None
    if len(waiting) == 2:
        text = f"both instances of {service} are empty and set to bootstrap: each waits for the other, for ever"
        hint = "start one of them without its Bootstrap, once"
        finding = finding_of(Level.ERROR, "both-wait", text, hint)
    elif waiting:
        text = (
            f"{service} at {waiting[0].name} is empty and waits for a bootstrap, so it holds nothing to fail over to"
        )
        finding = finding_of(
            Level.ERROR, "waits-for-bootstrap", text, "check whether its mate answers; see `failover restore`"
        )
    elif unread is not None:
        finding = _unknown(
            "bootstrap", service, unread, "bootstrap", "the instance did not report its configuration or its journals"
        )
    return Checked("bootstrap", finding.code if finding else "ok", service=service, finding=finding)


def _configuration(service: str, validated: Validated, silent: Sequence[SiteRead]) -> Checked:
    finding: Finding | None = None
    hint = "`failover validate --from-inventory` shows every finding and how to fix it"
    if validated.why and silent:
        finding = _not_read(service, silent[0])
    elif validated.why:
        text = f"the live configurations of {service} could not be validated: {validated.why}"
        finding = finding_of(Level.UNKNOWN, "configuration-unknown", text, _AGAIN)
    elif validated.errors:
        text = f"AMPS would refuse a link of {service}: {_first(validated.errors)}"
        finding = finding_of(Level.ERROR, "configuration-refused", text, hint)
    elif validated.risks:
        text = f"the mate of {service} cannot take over everything: {_first(validated.risks)}"
        finding = finding_of(Level.WARNING, "configuration-risk", text, hint)
    elif validated.undecided:
        text = f"it is undecided whether the configurations of {service} fit: {_first(validated.undecided)}"
        finding = finding_of(Level.WARNING, "configuration-undecided", text, hint)
    return Checked("configuration", finding.code if finding else "ok", service=service, finding=finding)


def _first(texts: Sequence[str]) -> str:
    return texts[0] + (f" (and {len(texts) - 1} more)" if len(texts) > 1 else "")


def _instances(service: str, sites: tuple[SiteRead, SiteRead]) -> Checked:
    here, there = (_of(site, "instance", service, Instance) for site in sites)
    if here is None or there is None or None in (here.name, there.name, here.version, there.version):
        site = sites[0] if here is None or None in (here.name, here.version) else sites[1]
        finding = _unknown("instances", service, site, "instance", "the instance did not report its name and version")
        return Checked("instances", "unknown", service=service, finding=finding)
    one, other = _release(here.version), _release(there.version)
    if here.name == there.name:
        text = f"both sites of {service} report the same instance name, {here.name}"
        found = finding_of(
            Level.ERROR, "same-instance", text, "correct the addresses in the inventory, or the Name of one instance"
        )
        return Checked("instances", "the same", service=service, finding=found)
    if one != other:
        text = f"the instances of {service} run {here.version} and {there.version}"
        found = finding_of(
            Level.WARNING,
            "releases-differ",
            text,
            "bring both instances to the same release; they may differ only during an upgrade",
        )
        return Checked("instances", f"{one}, {other}", service=service, finding=found)
    return Checked("instances", one, service=service)


def _release(version: str | None) -> str:
    """``5.3`` of ``5.3.5.135``: the part that should be equal except during an upgrade (docs/sources/amps.md,
    10)."""
    return ".".join((version or "").split(".")[:2])


def _of(site: SiteRead, reading: str, service: str, kind: type[Read]) -> Read | None:
    found: Reading | Failure = site.of(reading, service)
    return found if isinstance(found, kind) else None


def _unknown(check: str, service: str, site: SiteRead, reading: str, why: str) -> Finding:
    found = site.of(reading, service)
    if isinstance(found, Failure) and is_shut_out(found):
        return _not_read(service, site)
    why = found.text if isinstance(found, Failure) else why
    return finding_of(
        Level.UNKNOWN, f"{check}-unknown", f"{check} of {service} at {site.name} is unknown: {why}", _AGAIN
    )


def _not_read(service: str, site: SiteRead) -> Finding:
    """One finding that replaces a finding for each check. The cause is a finding about the site itself."""
    return finding_of(
        Level.UNKNOWN,
        "not-read",
        f"{site.name} could not be read, so the checks of {service} there are missing",
        _AGAIN,
    )

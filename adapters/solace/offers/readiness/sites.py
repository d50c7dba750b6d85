"""The checks of both sites of a pair: who answers, HA, mates, versions, account, fence plan, clocks, host keys. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from adapters.solace.reading_models import DeviceHealth, Platform
from orchestrator.family.readiness import Checked, SiteRead, answers_of, cannot, fence_plan_of, finding_of
from orchestrator.model.findings import Finding, Level
from orchestrator.model.outcome import Failure

Value = TypeVar("Value", bool, float, str)

# Levels that may change a role (docs/sources/solace.md, 0.10), and levels that may shut the backbone (1.5).
_MAY_MOVE = frozenset({"mesh-manager", "read-write", "admin"})
_MAY_FENCE = frozenset({"read-write", "admin"})
# The difference that `failover failback` allows between a broker's clock and this machine's clock, seconds.
SKEW_MAX_S = 30.0


def of_sites(sites: tuple[SiteRead, SiteRead], readings: Sequence[str]) -> Iterator[Checked]:
    """Every check of the two sites, one site after the other."""
    for site, other in (sites, sites[::-1]):
        yield answers_of(site, readings)
        yield from _host_keys(site)
        yield _ha(site)
        platform = site.of_site("platform")
        yield _mate(site, other, platform)
        yield _version(site, other, platform)
        yield _transaction_mode(site, other, platform)
        yield _config_sync(site, platform)
        yield _access(site, platform)
        yield fence_plan_of(site)
        yield _clock(site, platform)


def _host_keys(site: SiteRead) -> Iterator[Checked]:
    if site.host_keys is None:
        return
    strangers = [name for name, is_known in site.host_keys.items() if not is_known]
    finding = finding_of(
        Level.ERROR,
        "host-key-unknown",
        f"no host key is known for {' and '.join(strangers)} of {site.name}: the session will be refused",
        "compare the key with the one at the device's console; then write it as host_key under the device in the "
        "inventory, or into known_hosts",
    )
    yield Checked(
        "host keys", "unknown" if strangers else "known", site=site.name, finding=finding if strangers else None
    )


def _ha(site: SiteRead) -> Checked:
    health = site.of_site("health")
    if not isinstance(health, DeviceHealth):
        return cannot(site, "ha", f"which node of {site.name} serves is unknown: {_why(health)}")
    is_pair = len(site.site.devices) > 1
    words = f"{health.node or 'a node'} serves" if health.serving else "no node serves"
    found: Finding | None = None
    if health.serving is False:
        text = f"exactly one node of {site.name} must serve, but no node or more than one node serves"
        found = finding_of(Level.ERROR, "not-serving", text, "read the reason there with `show redundancy`")
    elif health.spool_active is False:
        text = f"the message spool of {health.node or site.name} is not active, so it cannot serve"
        found = finding_of(
            Level.ERROR,
            "spool-inactive",
            text,
            "read the reason there with `show redundancy` and `show message-spool`",
        )
    elif is_pair and health.mate_node is not None and health.mate_node not in site.own_names:
        text = f"{health.node or site.name} has the HA mate {health.mate_node}, but the inventory does not list it"
        found = finding_of(Level.ERROR, "ha-mate-stranger", text, f"fix the devices of {site.name} in the inventory")
    elif is_pair and health.redundancy_up is False:
        text = f"the HA pair {site.name} is not redundant: one more failure there causes an outage"
        found = finding_of(Level.WARNING, "redundancy-down", text, "repair the other node of this pair first")
    elif None in (health.serving, health.spool_active) or (
        is_pair and None in (health.mate_node, health.redundancy_up)
    ):
        return cannot(site, "ha", f"{site.name} reported only a part of its HA state")
    return Checked("ha", words, site=site.name, finding=found)


def _mate(site: SiteRead, other: SiteRead, platform: object) -> Checked:
    def judge(mate: str) -> Finding | None:
        if mate in other.own_names:
            return None
        listed = ", ".join(sorted(other.own_names))
        return finding_of(
            Level.ERROR,
            "mate-stranger",
            f"{site.name} replicates with {mate}, but the inventory says that its mate is {other.name} ({listed}): "
            "a move could activate the wrong site",
            "fix the inventory: sites of the pair, device names, router_name",
        )

    return _told(site, "mate", platform, lambda one: one.mate, judge)


def _version(site: SiteRead, other: SiteRead, platform: object) -> Checked:
    theirs = _of_platform(other, lambda one: one.version)

    def judge(version: str) -> Finding | None:
        if theirs is None or theirs == version:
            return None  # a missing version of the other site is reported for that site
        # The same sentence at both sites, so that it is reported once.
        words = " and ".join(sorted((f"{site.name} runs {version}", f"{other.name} runs {theirs}")))
        text = f"{words}; mates should run the same version"
        return finding_of(Level.WARNING, "versions-differ", text, "upgrade the older one at the next maintenance")

    return _told(site, "version", platform, lambda one: one.version, judge)


def _transaction_mode(site: SiteRead, other: SiteRead, platform: object) -> Checked:
    theirs = _of_platform(other, lambda one: one.transactions)

    def judge(mode: str) -> Finding | None:
        if theirs is not None and theirs != mode:
            words = " and ".join(sorted((f"{mode} at {site.name}", f"{theirs} at {other.name}")))
            text = f"transactions are replicated in different modes: {words}"
            hint = "make the transaction replication compatibility mode equal at both sites"
            return finding_of(Level.ERROR, "transaction-modes-differ", text, hint)
        if mode == "legacy":
            text = (
                f"{site.name} replicates transactions in legacy mode, so the mate does not know prepared transactions"
            )
            hint = "if clients use XA transactions, change both sites to transacted; otherwise no change is needed"
            return finding_of(Level.WARNING, "transaction-mode-legacy", text, hint)
        return None

    return _told(site, "transaction mode", platform, lambda one: one.transactions, judge)


def _config_sync(site: SiteRead, platform: object) -> Checked:
    def judge(up: bool) -> Finding | None:
        text = f"config-sync is down at {site.name}: changes there do not reach the other nodes"
        return (
            None
            if up
            else finding_of(Level.WARNING, "config-sync-down", text, "read the reason there with `show config-sync`")
        )

    return _told(site, "config-sync", platform, lambda one: one.config_sync_up, judge, {True: "up", False: "DOWN"})


def _access(site: SiteRead, platform: object) -> Checked:
    def judge(level: str) -> Finding | None:
        if level not in _MAY_MOVE:
            text = f"the account has the level {level} at {site.name}; this level may not change a replication role"
            hint = "give the account the global level read-write (newer versions: mesh-manager or above)"
            return finding_of(Level.ERROR, "access-too-low", text, hint)
        if level not in _MAY_FENCE:
            text = f"the account has the level {level} at {site.name}; this level may not shut the message backbone"
            return finding_of(
                Level.NOTE,
                "access-no-fence",
                text,
                "give the account read-write if this program must be able to fence the site",
            )
        return None

    return _told(site, "access", platform, lambda one: one.level, judge)


def _clock(site: SiteRead, platform: object) -> Checked:
    def judge(offset: float) -> Finding | None:
        if abs(offset) <= SKEW_MAX_S:
            return None
        way = "ahead of" if offset > 0 else "behind"
        text = (
            f"the clock of {site.name} is {abs(offset):.0f}s {way} the local clock: message times cannot be compared"
        )
        return finding_of(Level.WARNING, "clock-skew", text, "fix the time service of the device, or of this machine")

    checked = _told(site, "clock", platform, lambda one: one.clock_offset_s, judge)
    offset = _of_platform(site, lambda one: one.clock_offset_s)
    if offset is None:
        return checked
    words = "in sync" if abs(offset) < 1 else f"{offset:+.0f}s"
    return Checked("clock", words, site=site.name, finding=checked.finding)


def _told(
    site: SiteRead,
    check: str,
    platform: object,
    value_of: Callable[[Platform], Value | None],
    judge: Callable[[Value], Finding | None],
    words: dict[Value, str] | None = None,
) -> Checked:
    """A check of one value of the platform: unknown if it was not reported."""
    value = value_of(platform) if isinstance(platform, Platform) else None
    if value is None:
        return cannot(site, check, f"the {check} of {site.name} is unknown: {_why(platform)}")
    return Checked(check, (words or {}).get(value, str(value)), site=site.name, finding=judge(value))


def _of_platform(site: SiteRead, value_of: Callable[[Platform], Value | None]) -> Value | None:
    platform = site.of_site("platform")
    return value_of(platform) if isinstance(platform, Platform) else None


def _why(answer: object) -> str:
    return answer.text if isinstance(answer, Failure) else "the device did not report it"

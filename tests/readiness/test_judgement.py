"""Could this pair be moved now? Each thing that can be wrong has its code; what was not read is never good."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.solace.offers.readiness import JUDGE, READINGS, SERVICE_CHECKS, SITE_CHECKS
from adapters.solace.offers.readiness.services import HIGH_CLEAR, HIGH_SET
from adapters.solace.reading_models import (
    Bridge,
    DeviceHealth,
    Platform,
    QueueDepth,
    ReplicationStatus,
    Transaction,
    Transactions,
    TransactionState,
)
from orchestrator.family import fill_estimate
from orchestrator.family.readiness import Readiness, SiteRead, is_good, matter
from orchestrator.model.findings import Finding, Level
from orchestrator.model.inventory import Device, FenceOption, Pair, Site
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from orchestrator.model.readings import Role

V = "V"
PAIR = Pair(name="trading", sites=("ny", "nj"), services=(V,))
PLAN = (FenceOption(attest="pull the cables"),)
NODES = {"ny": ("NY1", "NY2"), "nj": ("NJ1", "NJ2")}


def good(site: str) -> dict[str, Reading | Failure]:
    """What a healthy site says: ny active, nj standby."""
    is_active = site == "ny"
    other = "NJ1" if is_active else "NY1"
    return {
        "replication": ReplicationStatus(
            enabled=True,
            role=Role.ACTIVE if is_active else Role.STANDBY,
            bridge=None if is_active else Bridge.BOUND,
            remote_bridge_up=True if is_active else None,
            queue_bound=True if is_active else None,
            sync_eligible=True if is_active else None,
        ),
        "replication_queue": QueueDepth(messages=0, usage_mb=0.0, quota_mb=100.0, rejects_on_discard=True),
        "transactions": Transactions(),
        "health": DeviceHealth(
            node=NODES[site][0], serving=True, spool_active=True, mate_node=NODES[site][1], redundancy_up=True
        ),
        "platform": Platform(
            node=NODES[site][0],
            version="10.25",
            transactions="transacted",
            config_sync_up=True,
            mate=other,
            level="read-write",
            clock_offset_s=0.2,
        ),
    }


def pair(
    *,
    ny: Mapping[str, Any] | None = None,
    nj: Mapping[str, Any] | None = None,
    fence: bool = True,
    nodes: int = 2,
    host_keys: Mapping[str, bool] | None = None,
) -> Readiness:
    """A healthy pair, but for what a test says: ``ny={"replication": {"role": None}}``, or a whole answer."""
    return judge((_site("ny", ny or {}, fence, nodes, host_keys), _site("nj", nj or {}, fence, nodes, None)))


def judge(sites: tuple[SiteRead, SiteRead]) -> Readiness:
    """Message VPNs have no configuration to validate, so none is."""
    return JUDGE.judge(PAIR, sites, dict)


def test_the_marks_of_a_queue_are_those_of_a_forecast() -> None:
    """Law: `check` and `watch` agree on when a replication queue is nearly full."""
    assert (HIGH_SET, HIGH_CLEAR) == (fill_estimate.HIGH_SET, fill_estimate.HIGH_CLEAR)


def _site(
    name: str, changed: Mapping[str, Any], fence: bool, nodes: int, host_keys: Mapping[str, bool] | None
) -> SiteRead:
    devices = tuple(Device(name=node) for node in NODES[name][:nodes])
    answers = good(name)
    for reading, change in changed.items():
        before = answers[reading]
        is_change = isinstance(change, dict) and not isinstance(before, Failure)
        answers[reading] = before.model_copy(update=change) if is_change else change
    site = Site(name=name, adapter="mock", devices=devices, fence=PLAN if fence else ())
    return SiteRead(site, {reading: {V: answer} for reading, answer in answers.items()}, host_keys)


def codes(found: Readiness) -> dict[str, Level]:
    return {finding.code: finding.level for finding in found.findings}


def away(kind: str = "Unreachable") -> dict[str, Failure]:
    """A site of which nothing was had."""
    return {reading: Failure(kind=kind, text=f"no answer ({kind})") for reading in READINGS}


def test_a_healthy_pair_has_no_findings() -> None:
    """Law: when everything was read and fits, nothing is found, and every check was made."""
    found = pair(host_keys={"NY1": True, "NY2": True})
    assert found.findings == []
    assert is_good(found.findings_of(V))
    made = {(one.site or one.service, one.check) for one in found.checked}
    assert {(V, check) for check in SERVICE_CHECKS} <= made
    assert {("ny", check) for check in SITE_CHECKS} <= made
    assert {("nj", check) for check in SITE_CHECKS if check != "host keys"} <= made
    assert all(one.verdict == "ok" for one in found.checked)


def prepared(
    *, replicated: bool | None = True, state: TransactionState | None = TransactionState.PREPARED
) -> Transactions:
    return Transactions(items=(Transaction(xid="00-01", state=state, replicated=replicated),))


CASES: dict[str, tuple[Level, dict[str, Any]]] = {
    "not-replicated": (Level.ERROR, {"nj": {"replication": {"enabled": False}}}),
    "both-active": (Level.ERROR, {"nj": {"replication": {"role": Role.ACTIVE}}}),
    "no-active-site": (Level.ERROR, {"ny": {"replication": {"role": Role.STANDBY}}}),
    "roles-unknown": (Level.UNKNOWN, {"nj": {"replication": {"role": None}}}),
    "bridge-not-bound": (Level.ERROR, {"nj": {"replication": {"bridge": Bridge.UNBOUND}}}),
    "bridge-unknown": (Level.UNKNOWN, {"ny": {"replication": {"queue_bound": None}}}),
    "sync-ineligible": (Level.WARNING, {"ny": {"replication": {"sync_eligible": False}}}),
    "sync-unknown": (Level.UNKNOWN, {"ny": {"replication": {"sync_eligible": None}}}),
    "queue-high": (Level.ERROR, {"ny": {"replication_queue": {"usage_mb": 80.0}}}),
    "queue-filling": (Level.WARNING, {"ny": {"replication_queue": {"usage_mb": 60.0}}}),
    "queue-left-behind": (Level.WARNING, {"nj": {"replication_queue": {"messages": 7}}}),
    "queue-suspended": (Level.WARNING, {"ny": {"replication_queue": {"rejects_on_discard": False}}}),
    "queue-unknown": (Level.UNKNOWN, {"ny": {"replication_queue": {"quota_mb": None}}}),
    "transactions-prepared": (Level.NOTE, {"ny": {"transactions": prepared()}}),
    "transactions-unknown": (Level.UNKNOWN, {"ny": {"transactions": Failure(kind="UnreadableReply", text="?")}}),
    "transactions-completed": (Level.NOTE, {"nj": {"transactions": prepared(state=TransactionState.COMPLETE)}}),
    "sync-rejects": (Level.NOTE, {"ny": {"replication": {"reject_when_ineligible": True}}}),
    "site-unreachable": (Level.ERROR, {"nj": away()}),
    "login-refused": (Level.ERROR, {"nj": away("AuthenticationFailed")}),
    "host-key-rejected": (Level.ERROR, {"nj": away("HostKeyRejected")}),
    "host-key-unknown": (Level.ERROR, {"host_keys": {"NY1": True, "NY2": False}}),
    "not-serving": (Level.ERROR, {"ny": {"health": {"serving": False}}}),
    "spool-inactive": (Level.ERROR, {"ny": {"health": {"spool_active": False}}}),
    "ha-mate-stranger": (Level.ERROR, {"ny": {"health": {"mate_node": "NJ1"}}}),
    "redundancy-down": (Level.WARNING, {"ny": {"health": {"redundancy_up": False}}}),
    "ha-unknown": (Level.UNKNOWN, {"ny": {"health": {"serving": None}}}),
    "mate-stranger": (Level.ERROR, {"ny": {"platform": {"mate": "Chicago1"}}}),
    "mate-unknown": (Level.UNKNOWN, {"ny": {"platform": {"mate": None}}}),
    "versions-differ": (Level.WARNING, {"ny": {"platform": {"version": "10.24"}}}),
    "version-unknown": (Level.UNKNOWN, {"ny": {"platform": {"version": None}}}),
    "transaction-modes-differ": (Level.ERROR, {"ny": {"platform": {"transactions": "legacy"}}}),
    "transaction-mode-unknown": (Level.UNKNOWN, {"nj": {"platform": {"transactions": None}}}),
    "config-sync-down": (Level.WARNING, {"ny": {"platform": {"config_sync_up": False}}}),
    "config-sync-unknown": (Level.UNKNOWN, {"ny": {"platform": {"config_sync_up": None}}}),
    "access-too-low": (Level.ERROR, {"ny": {"platform": {"level": "read-only"}}}),
    "access-no-fence": (Level.NOTE, {"ny": {"platform": {"level": "mesh-manager"}}}),
    "access-unknown": (Level.UNKNOWN, {"ny": {"platform": {"level": None}}}),
    "no-fence-plan": (Level.WARNING, {"fence": False}),
    "clock-skew": (Level.WARNING, {"nj": {"platform": {"clock_offset_s": -31.0}}}),
    "clock-unknown": (Level.UNKNOWN, {"nj": {"platform": {"clock_offset_s": None}}}),
}


@pytest.mark.parametrize("code", CASES)
def test_each_has_its_code(code: str) -> None:
    """Law: what is wrong is found under its stable code and level, and the finding says what to do."""
    level, changed = CASES[code]
    found = pair(**changed)
    assert codes(found)[code] is level
    [first, *_] = [finding for finding in found.findings if finding.code == code]
    assert first.message
    assert first.hint


@pytest.mark.parametrize("code", [code for code in CASES if not code.startswith(("site-", "login-", "host-key-rej"))])
def test_one_thing_wrong_is_one_thing_found(code: str) -> None:
    """Law: a single fault does not drag others along that have nothing to do with it."""
    followers = {
        "not-replicated": set(),
        "both-active": {"bridge-unknown", "queue-unknown"},
        "no-active-site": {"bridge-unknown", "sync-unknown", "queue-unknown", "transactions-unknown"},
        "roles-unknown": {"bridge-unknown", "queue-unknown"},
    }
    assert set(codes(pair(**CASES[code][1]))) == {code} | followers.get(code, set())


def test_where_nobody_serves_that_is_why() -> None:
    """Law: what is not known because no site is active is not put down to a site that told too little."""
    said = {one.code: one.message for one in pair(ny={"replication": {"role": Role.STANDBY}}).findings}
    reasons = {said[code].partition("unknown: ")[2] for code in ("sync-unknown", "transactions-unknown")}
    assert reasons == {"no active site is known"}
    assert said["queue-unknown"].endswith("unknown: no active site with a standby mate is known")
    assert " are unknown: " in said["transactions-unknown"]


def test_legacy_at_both_sites_is_a_warning() -> None:
    """Law: equal modes can be moved, but prepared transactions are not mirrored (docs/sources/solace.md, 1.10)."""
    legacy = {"platform": {"transactions": "legacy"}}
    assert codes(pair(ny=legacy, nj=legacy)) == {"transaction-mode-legacy": Level.WARNING}


def test_a_wrong_inventory_does_not_move_a_stranger() -> None:
    """Law: the mate's name must be one of the other site's nodes; router_name counts too."""
    for name, expected in (("NJ2", {}), ("ny1", {"mate-stranger": Level.ERROR})):
        assert codes(pair(ny={"platform": {"mate": name}})) == expected
    site = Site(name="nj", adapter="mock", devices=(Device(name="a", router_name="Jersey"),), fence=PLAN)
    read = _site("nj", {}, True, 2, None)
    ny = _site("ny", {"platform": {"mate": "Jersey"}}, True, 2, None)
    found = judge((ny, SiteRead(site, read.answers)))
    assert "mate-stranger" not in codes(found)


def test_a_single_node_needs_no_redundancy() -> None:
    """Law: where the inventory has one node, nothing is asked of an HA mate."""
    alone = {"health": {"mate_node": None, "redundancy_up": None}}
    assert pair(ny=alone, nj=alone, nodes=1).findings == []


def test_not_replicated_transactions_need_no_decision() -> None:
    """Law: a prepared transaction that is not replicated is nobody's business in a move; unknown is."""
    assert pair(ny={"transactions": prepared(replicated=False)}).findings == []
    assert codes(pair(ny={"transactions": prepared(replicated=None)})) == {"transactions-prepared": Level.NOTE}


def test_a_transaction_whose_state_is_not_told_may_be_prepared() -> None:
    """Law: what could need a decision is unknown, and not left out; of one that is not replicated nothing is needed."""
    assert codes(pair(ny={"transactions": prepared(state=None)})) == {"transactions-unknown": Level.UNKNOWN}
    assert pair(ny={"transactions": prepared(state=None, replicated=False)}).findings == []


def test_the_other_way_round() -> None:
    """Law: which site is active is read, not assumed from the order of the pair."""
    swapped = {"ny": good("nj"), "nj": good("ny")}
    changed: dict[str, Any] = {
        site: {key: value for key, value in answers.items() if key in ("replication", "replication_queue")}
        for site, answers in swapped.items()
    }
    assert pair(**changed).findings == []


def test_mates_are_compared_once() -> None:
    """Law: a difference between the sites is one sentence, whichever site it is said of."""
    found = pair(ny={"platform": {"version": "10.24"}})
    assert len({finding.message for finding in found.findings if finding.code == "versions-differ"}) == 1


@given(st.sampled_from(["ny", "nj"]), st.sampled_from(READINGS), st.sampled_from(["Unreachable", "NotServing", "?"]))
def test_a_check_that_could_not_be_made_is_never_ok(site: str, reading: str, kind: str) -> None:
    """Law: whichever reading was not had, for whatever reason, the service is not good, unless nothing needs it."""
    silent: dict[str, Any] = {site: {reading: Failure(kind=kind, text="no answer")}}
    found = pair(**silent)
    needless = reading == "transactions" and site == "nj" and kind != "Unreachable"  # acted on at the active only
    assert is_good(found.findings_of(V)) is needless
    for one in found.checked:
        assert one.verdict != "ok" or one.detail != "unknown"


def test_readings_that_were_not_even_asked() -> None:
    """Law: what is missing from the answers is unknown too."""
    site = Site(name="ny", adapter="mock", devices=(Device(name="NY1"),), fence=PLAN)
    other = Site(name="nj", adapter="mock", devices=(Device(name="NJ1"),), fence=PLAN)
    found = judge((SiteRead(site, {}), SiteRead(other, {})))
    assert {one.verdict for one in found.checked if one.check != "fence plan"} == {"unknown"}


def test_good_and_worth_knowing() -> None:
    """Law: a warning does not stand in the way of a move, and is told; a note is neither."""
    by_level = {level: Finding(level=level, code="x", message="x") for level in Level}
    assert {level: is_good([one]) for level, one in by_level.items()} == {
        Level.ERROR: False,
        Level.UNKNOWN: False,
        Level.WARNING: True,
        Level.NOTE: True,
    }
    assert {level: matter([one]) for level, one in by_level.items()} == {
        Level.ERROR: True,
        Level.UNKNOWN: True,
        Level.WARNING: True,
        Level.NOTE: False,
    }


def test_the_page_has_every_code() -> None:
    """Law: docs/reference/readiness.md has each code once with its level, and no code that is never found.
    The codes of AMPS have a separate table and test."""
    page = (Path(__file__).parents[2] / "docs/reference/readiness.md").read_text(encoding="utf-8")
    page = re.sub(r"^Of each service of AMPS.*?(?=^Of each site)", "", page, flags=re.M | re.S)
    told = dict(re.findall(r"^\| `([a-z-]+)` \| (error|warning|note|unknown) \|", page, re.M))
    found = {code: str(level) for code, (level, _) in CASES.items()}
    assert told == found | {
        "transaction-mode-legacy": "warning",
        "answers-unknown": "unknown",
        "family-unknown": "unknown",
    }

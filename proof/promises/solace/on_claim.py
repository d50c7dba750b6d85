"""Solace: checks a report's statements about a message VPN against the world."""

from __future__ import annotations

from collections.abc import Iterator

from proof.promises.facts import Broken, Case, LaneFacts, Plain
from proof.promises.solace.facts import has_foreign_hand

_NEAR_S = 0.01


def judge_claim(case: Case, lane: LaneFacts, claim: Plain, world: Plain) -> Iterator[Broken]:
    """Promise 17: the report says only what is true, unless another person changed the service."""
    if has_foreign_hand(case, lane, world) or world.get("lags"):
        return
    service = world["services"][lane.service]
    for site, role in claim["roles"].items():
        if service["roles"][site] != role:
            yield Broken(
                17, f"{lane.service}: the report says that {site} is {role}, and it is {service['roles'][site]}"
            )
    said = claim["outage_seconds"]
    if said is None or case.begun is None:
        return
    dark = _dark_s(case, lane, world)
    if dark > said + _NEAR_S:
        yield Broken(17, f"{lane.service}: the report says that no site was active for less than it was")


def _dark_s(case: Case, lane: LaneFacts, world: Plain) -> float:
    """The number of seconds in which no site was active, from the start of the run to the last change of a role."""
    assert case.begun is not None  # the caller checks this
    roles = dict(case.begun["services"][lane.service]["roles"])
    at, dark = float(case.begun["moment"]), 0.0
    for moment, site, role, _ in world["services"][lane.service]["changes"]:
        if moment < at:
            continue
        if "active" not in roles.values():
            dark += moment - at
        at, roles[site] = moment, role
    return dark

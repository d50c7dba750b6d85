"""No sentence of a report claims what no reading showed: over all ends, all families, and all that may be read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from orchestrator.cli.render.outcome import report_lines
from orchestrator.model import events as ev
from orchestrator.model.readings import Role
from orchestrator.reports.abort import verdict_on_abort
from orchestrator.reports.alarms import who_serves
from orchestrator.reports.document import LaneReport, RunReport
from tests import shipped
from tests.reports.test_advice import RUN, a_lane

RUNBOOKS = [*shipped.RUNBOOKS, "mariadb/controlled", "mariadb/switch"]
OUTCOMES: list[ev.Outcome | None] = [*ev.Outcome, None]
A, S = Role.ACTIVE, Role.STANDBY


def a_report(runbook: str, lane: LaneReport) -> RunReport:
    return RunReport.model_validate(
        {
            **dict.fromkeys(("started_at", "last_record_at", "ended_at"), ""),
            **dict.fromkeys(("notes", "alarms"), ()),
            **dict.fromkeys(("simulated", "resumable"), False),
            **dict.fromkeys(("exit_code", "seconds"), 0),
            "run": RUN,
            "runbook": runbook,
            "source": "ny",
            "target": "nj",
            "by": "ann",
            "account": "ann",
            "uid": 1000,
            "status": "finished",
            "outcome": lane.outcome,
            "lanes": (lane,),
            "approval": None,
        }
    )


def lanes(outcome: ev.Outcome | None) -> Iterator[LaneReport]:
    """Everything that may have been read of both sites, of either kind."""
    for ny, nj in product((None, A, S), repeat=2):
        yield a_lane(outcome, roles=known(ny=ny, nj=nj))
        yield a_lane(outcome, roles=known(ny=ny, nj=nj), left_changed=("Stop the batch",), can_turn_back=True)
    for ny_open, nj_open in product((None, True, False), repeat=2):
        yield a_lane(outcome, lets_clients_in=known(ny=ny_open, nj=nj_open))


def known(**read: Any) -> dict[str, Any]:
    return {site: value for site, value in read.items() if value is not None}


def texts(runbook: str, lane: LaneReport) -> str:
    """All that is said of it, but for what is only said to be possible."""
    report = a_report(runbook, lane)
    said = "\n".join([*report_lines(report), verdict_on_abort(report).text, who_serves("ny", "nj", lane)])
    return re.sub(r"\b[Ii]f [^.,;:]*[.,;:]", "", said)


def unproven(runbook: str, lane: LaneReport) -> Iterator[str]:
    """Claims in the texts that nothing that was read shows."""
    said, roles, is_open = texts(runbook, lane), lane.roles, lane.lets_clients_in
    shown = {"active": A, "standby": S}
    for site, role in re.findall(r"\b(ny|nj) (?:is|was read) (active|standby)\b", said):
        if roles.get(site) is not shown[role]:
            yield f"{site} is {role}"
    if "nothing was lost" in said and (roles.get("ny"), roles.get("nj")) != (A, S):
        yield "nothing was lost"
    if re.search(r"(?<!PERHAPS )NO SITE IS ACTIVE", said) and set(roles.values()) != {S}:
        yield "no site is active"
    if "BOTH SITES ARE ACTIVE" in said and (roles.get("ny"), roles.get("nj")) != (A, A):
        yield "both sites are active"
    if "NEITHER INSTANCE" in said and set(is_open.values()) != {False}:
        yield "neither instance lets clients in"
    for site in re.findall(r"\b(ny|nj) (?:lets no client in|is open to clients|lets its clients in)", said):
        if site not in is_open:
            yield f"whether {site} lets clients in"


@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("runbook", RUNBOOKS)
def test_no_sentence_claims_what_was_not_read(runbook: str, outcome: ev.Outcome | None) -> None:
    """Law (promise 17): no role, no "nothing was lost", no "both" and no "none" without the readings that show it."""
    assert [claim for lane in lanes(outcome) for claim in unproven(runbook, lane)] == []


def test_control_the_claims_are_seen() -> None:
    """Control: what is claimed is found in the texts, and is missed where the readings do not show it."""
    moved = a_lane(ev.Outcome.REVERTED, roles={"ny": A, "nj": S})
    text = texts("solace/controlled", moved)
    assert "ny is active again" in text
    assert "nothing was lost" in text
    assert list(unproven("solace/controlled", moved)) == []
    lying = moved.model_copy(update={"roles": {}, "reason": "ny is active, and nothing was lost"})
    assert list(unproven("solace/controlled", lying)) == ["ny is active", "nothing was lost"]


@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("runbook", [one for one in RUNBOOKS if one.startswith("mariadb/")])
def test_another_family_is_not_called_by_the_words_of_message_vpns(runbook: str, outcome: ev.Outcome | None) -> None:
    """Law (promise 18): of a family that is not known no VPN and no message is spoken, and its numbers have no unit."""
    for lane in lanes(outcome):
        risky = lane.model_copy(update={"at_risk_messages": 108_360})
        assert re.findall(r"(?i)\bvpn\b|--vpn|\bmessages?\b", texts(runbook, risky)) == []

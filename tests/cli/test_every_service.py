"""With many services every one of them has its row, and those that differ stand first."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.cli.render.outcome import report_lines
from orchestrator.cli.render.preview import brief, in_short
from orchestrator.model import events as ev
from orchestrator.operations.runs.plan import PlanRequest, make_plan
from orchestrator.operations.runs.preview import take_preview
from orchestrator.operations.runs.run_times import time_taken
from orchestrator.reports.document import RunReport
from simulator.embedded import embedded_layout
from simulator.solace.layout import TransactionLayout, VpnLayout
from tests.cli.shell import Shell

NAMES = [f"V{number:02}" for number in range(24)]
ODD = "V17"
STANDBY = {"ny": "standby", "nj": "standby"}


@pytest.fixture
def inventory(shell: Shell) -> str:
    """A pair of many services, one of which has a prepared transaction."""
    prepared = (TransactionLayout(xid="1-01-01"),)
    vpns = tuple(
        VpnLayout(name, backlog=100 + number, transactions=prepared if name == ODD else ())
        for number, name in enumerate(NAMES)
    )
    return str(shell.inventory(replace(embedded_layout(), vpns=vpns), services=NAMES))


def rows_of(text: str) -> list[str]:
    """The services in the order in which their rows begin."""
    words = (line.split() for line in text.splitlines() if line.startswith("  V"))
    return [first.rstrip(":") for first, *_ in words]


def test_the_plan_before_the_question(shell: Shell, inventory: str) -> None:
    """Law: the service whose transaction needs a decision is shown first and in full, then one of those that are alike,
    and each of the others has a row that names that one and has its own queue. None is hidden in a number."""
    wish = PlanRequest("solace/controlled", Path(inventory), (), True, None, None, ev.Policy())
    tools = shell.tools()
    text = "\n".join(brief(take_preview(tools, make_plan(tools, wish), attended=True)))
    rows = rows_of(text.partition("\n\n")[2])
    assert rows[:2] == [ODD, NAMES[0]]
    assert sorted(rows) == NAMES
    assert text.count("prepared now, and a decision is needed: 1-01-01") == 1
    assert re.search(rf"^  {NAMES[1]}: the same as {NAMES[0]}; \d+ messages in the queue now$", text, re.M)
    assert "more service" not in text


def test_the_plan_in_short(shell: Shell, inventory: str) -> None:
    """Law: right above the question are at most twelve lines: how many services, what is queued in all, how long it
    takes or that it is unknown, from which step on it cannot be undone, and by name the service that differs."""
    wish = PlanRequest("solace/controlled", Path(inventory), (), True, None, None, ev.Policy())
    tools = shell.tools()
    plan = make_plan(tools, wish)
    lines = in_short(take_preview(tools, plan, attended=True))
    assert len(lines) <= 12
    assert lines[0] == "SIMULATED  Planned move of 24 services: ny to nj"
    assert "  time: unknown (no earlier run is on record)" in lines
    [queued] = [line for line in lines if "queued now" in line]
    assert re.search(r"queued now: \d,\d{3} messages, the most at V23: \d+$", queued)
    [odd] = [line for line in lines if line.startswith(f"  {ODD}: ")]
    assert "WOULD ASK" in odd
    assert shell("controlled", "V01", "-i", inventory, "--yes").code == 0
    assert shell("controlled", "V02", "-i", inventory, "--yes").code == 0
    again = in_short(take_preview(tools, plan, attended=True))
    assert any(re.search(r"  time: earlier runs took [\d to]+ s.*\(2 runs, ", line) for line in again)


def test_only_the_same_devices_tell_how_long_it_takes(shell: Shell, inventory: str) -> None:
    """Law: a run on other devices, or through another interface, says nothing of this one, though its sites have the
    same names."""
    assert shell("controlled", "V01", "-i", inventory, "--yes").code == 0
    tools = shell.tools()
    plan = make_plan(tools, PlanRequest("solace/controlled", Path(inventory), (), True, None, None, ev.Policy()))
    assert "1 run" in time_taken(tools, plan)
    ny = plan.inventory.sites["ny"]
    moved = ny.devices[0].model_copy(update={"address": "ny-2.example"})
    for other in (ny.model_copy(update={"devices": (moved,)}), ny.model_copy(update={"adapter": "solace-cli"})):
        sites = {**plan.inventory.sites, "ny": other}
        elsewhere = plan.model_copy(update={"inventory": plan.inventory.model_copy(update={"sites": sites})})
        assert time_taken(tools, elsewhere) == ""


def test_a_few_are_shown_in_full(shell: Shell) -> None:
    """Law: a handful has no need of rows."""
    wish = PlanRequest("solace/controlled", None, (), True, None, None, ev.Policy())
    tools = shell.tools()
    text = "\n".join(brief(take_preview(tools, make_plan(tools, wish), attended=True)))
    assert text.count("1. Check that the target's replication bridge") == 3


def test_how_old_the_checks_are(shell: Shell, inventory: str) -> None:
    """Law: of many services the age of the last check is said once for all that share it, with every name."""
    wish = PlanRequest("solace/controlled", Path(inventory), (), True, None, None, ev.Policy())
    tools = shell.tools()
    [line] = [
        line
        for line in brief(take_preview(tools, make_plan(tools, wish), attended=True))
        if line.endswith(": never checked")
    ]
    assert line.strip().partition(": ")[0].split(", ") == NAMES


def test_a_name_with_a_typo_among_many(shell: Shell, inventory: str) -> None:
    """Law: it names the one that was meant, and no list that fills the screen."""
    assert shell("controlled", "v15", "-i", inventory).hint == "did you mean V15? the inventory lists 24 services"


def test_what_a_rehearsal_copies(shell: Shell, inventory: str) -> None:
    """Law: it lists every copy that it made."""
    ended = shell("rehearse", "controlled", "--all", "--inventory", inventory, "--fast", "--yes")
    listed = [line.split()[1].rstrip(":") for line in ended.err.splitlines() if "messages/s are published" in line]
    assert listed == NAMES


def test_the_result(shell: Shell, inventory: str) -> None:
    """Law: the one that stopped is first and in full; every other one has its row, also in `runs show`."""
    ended = shell("controlled", "--all", "--inventory", inventory, "--yes", "--xa", "stop")
    assert ended.code == 6
    for text in (ended.out, shell("runs", "show").out):
        rows = [name for name in rows_of(text) if name in NAMES]
        assert rows == [ODD, *(name for name in NAMES if name != ODD)]


def test_many_that_stopped_alike(shell: Shell, inventory: str) -> None:
    """Law: of many that are not done for one reason, one is told in full and each other has a row with its outage; the
    last line counts all of them, since the first ones are no longer on the screen."""
    done = RunReport.model_validate(
        shell("controlled", "--all", "--inventory", inventory, "--yes", "--xa", "stop", "--json").result
    )
    dark = {"outcome": ev.Outcome.NEEDS_OPERATOR, "no_active_site_since": "T", "no_active_site_seconds": 12.0}
    stopped = [
        done.lanes[0].model_copy(update={**dark, "service": name, "reason": f"{name} was refused", "roles": STANDBY})
        for name in NAMES
    ]
    text = "\n".join(report_lines(done.model_copy(update={"lanes": tuple(stopped)})))
    assert [name for name in rows_of(text) if name in NAMES] == NAMES
    assert text.count("what to do: ") == 1
    assert "  V01  needs-operator, the same as V00, NO SITE IS ACTIVE for 12 s" in text
    assert text.splitlines()[-1] == (
        "  of 24 services: 24 needs-operator; no active site is known for 24; not done: V00, V01, V02 and 21 more"
    )
    unread = [lane.model_copy(update={"roles": {}}) for lane in stopped]
    text = "\n".join(report_lines(done.model_copy(update={"lanes": tuple(unread)})))
    assert "  V01  needs-operator, the same as V00, PERHAPS NO SITE IS ACTIVE for 12 s" in text


def test_many_that_did_the_same_with_decisions(shell: Shell, inventory: str) -> None:
    """Law: where every service was decided on alike, one is told in full and the others have their rows."""
    lost = "at 0s: node ny/NY_Appliance1 down"
    ended = shell(
        *("uncontrolled", "--all", "--site", "ny", "--yes", "--attest", "x", "--inventory", inventory),
        *("--fault", lost),
    )
    assert ended.code == 0
    assert [line for line in ended.out.splitlines() if "last known of" in line] == [
        "  last known of V00, V01, V02 and 21 more at ny: no reading is on record"
    ]
    assert [name for name in rows_of(ended.out) if name in NAMES] == NAMES
    assert ended.out.count("decided on unfenced: attest") == 1
    assert ended.out.count("what to do: ") == 1

"""Two standby or two active sites that no run made so: every command names what leads out, and that leads out."""

from __future__ import annotations

import json

import pytest

from orchestrator.documents.loader import read_runbook
from orchestrator.model import events as ev
from orchestrator.operations.runs.plan import PlanRequest, make_plan
from orchestrator.reports.plan_preview import question
from orchestrator.reports.report import build
from simulator.solace.appliance import RoleName
from tests.cli.complaints import complained, refused
from tests.cli.shell import VPN, Ended, Shell

BOTH_STANDBY, BOTH_ACTIVE = ("standby", "standby"), ("active", "active")
WHY = ("--accept-loss", "resent by the desk, J. Doe, 03:12")
# What was done by hand, and what it leads to. The embedded pair's ny is active first, with a backlog for nj.
STATES = {BOTH_STANDBY: ("at 0s: role ny standby",), BOTH_ACTIVE: ("at 0s: role nj active",)}
OTHERS = {
    "controlled": ("controlled", "--xa", "stop"),
    "controlled, the other way": ("controlled", "--xa", "stop", "--from", "nj"),
    "uncontrolled": ("uncontrolled", "--site", "ny", "--reason", "a test"),
    "isolated": ("uncontrolled", "--site", "ny", "--isolated", "--reason", "a test"),
    "failback": ("failback", "--site", "ny", "--xa", "stop"),
}


def by_hand(shell: Shell, *faults: str) -> None:
    """A person changes roles at the devices."""
    shell.disturb(*faults)
    shell.clock.advance(5)


def set_role(shell: Shell, vpn: str, site: str, role: RoleName) -> None:
    """A person changes the role of one message VPN alone."""
    world = shell.world()
    with world.request():
        world.vpn(vpn).set_role(site, role, by="somebody")
    world.save()
    world.close()


def pass_time(shell: Shell, seconds: float) -> None:
    """The pair has its own time, which passes only while it is open."""
    world = shell.world()
    shell.clock.advance(seconds)
    with world.request():
        pass
    world.save()
    world.close()


def strand(shell: Shell) -> None:
    """Both were active, nj last: its bridge never drains what ny still holds, once both are standby."""
    set_role(shell, VPN, "nj", "active")
    pass_time(shell, 2)
    set_role(shell, VPN, "ny", "standby")
    set_role(shell, VPN, "nj", "standby")


def queued(shell: Shell, site: str) -> int:
    """What the site holds for its mate, by its own management."""
    world = shell.world()
    with world.request():
        return world.appliance(site, f"{site.upper()}_Appliance1").replication_queue(VPN).messages


def repair(shell: Shell, to: str, *more: str) -> Ended:
    return shell("repair", "--vpn", VPN, "--site", to, *more)


@pytest.mark.parametrize("state", STATES, ids=["standby", "active"])
@pytest.mark.parametrize("command", OTHERS)
def test_every_refusal_names_the_command(shell: Shell, state: tuple[str, str], command: str) -> None:
    """Law: whatever moves services refuses two standby and two active sites, and names what leads out."""
    by_hand(shell, *STATES[state])
    ended = shell(*OTHERS[command], "--vpn", VPN, "--yes")
    refused(shell, ended)
    assert "`failover repair" in ended.out
    assert shell.roles() == state


def test_a_restore_beside_a_standby_site_names_it_too(shell: Shell) -> None:
    """Law: a restore needs an acting site."""
    by_hand(shell, *STATES[BOTH_STANDBY])
    ended = shell("restore", "--vpn", VPN, "--site", "ny", "--xa", "stop", "--yes")
    refused(shell, ended, "the other site is not active")
    assert f"`failover repair {VPN} --site nj`" in ended.out


def test_an_option_of_another_family(shell: Shell) -> None:
    """Law: a message VPN has no SOW, so its restore takes no answer about one."""
    complained(
        shell("restore", "--vpn", VPN, "--site", "ny", "--accept-sow", "x y", "--yes"), 2, "is an option of amps"
    )


@pytest.mark.parametrize("direction", [(), ("--from", "nj")], ids=["of nj", "of ny"])
def test_a_suspension_without_an_acting_site_names_it(shell: Shell, direction: tuple[str, ...]) -> None:
    """Law: of two standby sites no queue is suspended. Of two active ones it is not known: the other may be dark."""
    by_hand(shell, *STATES[BOTH_STANDBY])
    ended = shell("controlled", "--vpn", VPN, "--runbook", "solace/suspend", *direction, "--yes")
    refused(shell, ended, "not the acting one", "`failover repair`")


@pytest.mark.parametrize("state", STATES, ids=["standby", "active"])
def test_a_watch_names_it(shell: Shell, state: tuple[str, str]) -> None:
    """Law: where no single site serves, a watch follows none by itself and names what leads out."""
    by_hand(shell, *STATES[state])
    complained(shell("watch", "--vpn", VPN, "--suspend-at", "80%"), 3, "active" if state == BOTH_STANDBY else "serve")
    assert "`failover repair`" in shell("watch", "--vpn", VPN).err


@pytest.mark.parametrize("more", [("--yes",), ("--dry-run",), ("--yes", "--json")], ids=" ".join)
def test_a_restore_of_two_active_sites_is_refused(shell: Shell, more: tuple[str, ...]) -> None:
    """Law: where no recorded fail-over made both active, no restore chooses the site that loses activity: it is refused
    before anything is changed, and names what leads out."""
    by_hand(shell, *STATES[BOTH_ACTIVE])
    ended = shell("restore", "--vpn", VPN, "--site", "ny", "--xa", "stop", *more)
    said = ended.out if "--json" in more else ended.err
    assert ended.code == 3, (ended.out, ended.err)
    assert "both sites are active" in said
    assert f"`failover repair {VPN} --site nj`" in said
    assert (shell.roles(), dict(shell.tally().commands)) == (BOTH_ACTIVE, {})
    assert repair(shell, "nj", "--yes", *WHY).code == 0
    assert shell("restore", "--vpn", VPN, "--site", "ny", "--xa", "stop", *more).code in (0, 6)  # 6: a transaction
    assert shell.roles() == ("standby", "active")


def test_a_restore_after_a_recorded_fail_over_is_not_refused(shell: Shell) -> None:
    """Law: a failed site that comes back active is what a restore is for."""
    shell.disturb("at 0s: node ny/NY_Appliance1 down 120s")
    shell.clock.advance(30)
    failed = shell("uncontrolled", "--vpn", VPN, "--site", "ny", "--attest", "its links are shut, J. Doe", "--yes")
    assert failed.code == 0, failed.out
    shell.clock.advance(200)
    pass_time(shell, 200)
    assert shell.roles() == BOTH_ACTIVE
    restored = shell("restore", "--vpn", VPN, "--site", "ny", "--xa", "stop", "--yes")
    assert restored.code == 6, restored.out  # its prepared transactions have no decision
    assert shell.roles() == ("standby", "active")


@pytest.mark.parametrize(("state", "code"), [(BOTH_STANDBY, "no-active-site"), (BOTH_ACTIVE, "both-active")])
def test_status_and_check_name_the_command(shell: Shell, state: tuple[str, str], code: str) -> None:
    """Law: so do the commands that only read, for people and for machines."""
    by_hand(shell, *STATES[state])
    named = f"`failover repair {VPN} --site SITE`"
    status = shell("status")
    assert (status.code, named in status.out) == (4, True)
    [row] = [one for one in shell("status", "--json").values[0]["services"] if one["service"] == VPN]
    assert named in row["hint"]
    checked = shell("check", "--json")
    assert checked.code == 4
    assert any(one.get("code") == code and named in one["hint"] for one in _findings(checked.values))


def _findings(value: object) -> list[dict[str, str]]:
    """Every finding in a document, wherever it is."""
    if isinstance(value, dict):
        here = [value] if "hint" in value and "code" in value else []
        return [*here, *(one for part in value.values() for one in _findings(part))]
    return [one for part in value for one in _findings(part)] if isinstance(value, list) else []


def test_a_run_that_left_no_active_site_is_what_leads_out(shell: Shell) -> None:
    """Law: where an unfinished run left two standby sites, `status` names that run: beside it a repair is refused."""
    stopped = shell("controlled", "--vpn", VPN, "--xa", "stop", "--yes")
    assert (stopped.code, shell.roles()) == (6, BOTH_STANDBY)
    status = shell("status").out
    [hint] = [line for line in status.splitlines() if line.startswith(f"{VPN}: no active site: ")]
    assert "`failover resume " in hint
    assert "repair" not in hint
    assert repair(shell, "ny", "--yes").code == 8


@pytest.mark.parametrize(
    ("runbook", "asked"),
    [
        ("amps/proxied-transfer", "Let nj deliver the queue messages of orders that ny owned, now?"),
        ("solace/suspend", "Let nj suspend the replication of orders when its queue is full?"),
        ("solace/controlled", "Move orders from ny to nj now?"),
    ],
)
def test_what_is_asked_before_the_start(shell: Shell, runbook: str, asked: str) -> None:
    """Law: the question before the start says what the procedure does; only a move moves."""
    plan = make_plan(
        shell.tools(), PlanRequest("solace/controlled", None, (VPN,), False, None, None, ev.Policy())
    ).model_copy(update={"services": ("orders",), "runbook": read_runbook(runbook).result()})
    assert question(plan) == f"SIMULATED  {asked}"


@pytest.mark.parametrize("to", ["ny", "nj"])
def test_two_standby_sites(shell: Shell, to: str) -> None:
    """Law: either site is activated, unattended, once the other one's queue is empty; nothing is lost."""
    by_hand(shell, *STATES[BOTH_STANDBY])
    ended = repair(shell, to, "--yes")
    assert ended.code == 0, ended.out
    assert shell.roles() == (("active", "standby") if to == "ny" else ("standby", "active"))
    assert "ny is standby, " in ended.out
    assert f"`failover restore {VPN} --site {'nj' if to == 'ny' else 'ny'}`" in ended.out
    assert (shell.tally().lost, shell.tally().both_active) == (0, ())


def test_a_queue_that_cannot_drain_is_refused_with_the_option(shell: Shell) -> None:
    """Law (promise 16): unattended, messages that would stay behind refuse the repair, change nothing, and name the
    option that accepts them; the other site can be activated without it."""
    strand(shell)
    refused(shell, repair(shell, "nj", "--yes"), WHY[0], "activate the other site instead")
    assert shell.roles() == BOTH_STANDBY
    assert repair(shell, "ny", "--yes").code == 0
    assert shell.roles() == ("active", "standby")


def test_what_stays_behind_is_accepted_by_name_and_counted(shell: Shell) -> None:
    """Law: it is activated all the same, escalated, with the reason and the number on record."""
    strand(shell)
    result = repair(shell, "nj", "--yes", "--json", *WHY).result
    [lane] = result["lanes"]
    assert (result["exit_code"], lane["outcome"], shell.roles()) == (9, "escalated", ("standby", "active"))
    [decision] = lane["decisions"]
    assert (decision["gate"], decision["choice"], decision["reason"]) == ("undrained", "escalate", WHY[1])
    assert lane["at_risk_messages"] > 0
    assert lane["left_behind"] == {
        "site": "ny",
        "messages": lane["at_risk_messages"],
        "read_at": lane["left_behind"]["read_at"],
        "is_fresh": True,
    }


def test_suspended_replication_is_a_question(shell: Shell) -> None:
    """Law: an empty queue proves nothing while replication is suspended: it is refused, and by name it is not."""
    by_hand(shell, *STATES[BOTH_STANDBY])
    world = shell.world()
    world.vpn(VPN).set_reject_on_discard(enabled=False)
    world.save()
    world.close()
    refused(shell, repair(shell, "ny", "--yes"), "replication is suspended", WHY[0])
    assert repair(shell, "ny", "--yes", *WHY).code == 9


@pytest.mark.parametrize("keep", ["ny", "nj"])
def test_two_active_sites(shell: Shell, keep: str) -> None:
    """Law: the other site becomes standby once an operator accepted what stays there, and that is counted afterwards."""
    by_hand(shell, *STATES[BOTH_ACTIVE])
    other = "nj" if keep == "ny" else "ny"
    ended = repair(shell, keep, "--yes", "--json", *WHY)
    [lane] = ended.result["lanes"]
    assert (ended.code, lane["outcome"]) == (0, "done")
    assert shell.roles() == (("active", "standby") if keep == "ny" else ("standby", "active"))
    left = queued(shell, other)
    assert (lane["left_behind"]["site"], lane["left_behind"]["messages"]) == (other, left)
    assert (left > 0) is (other == "ny")  # the clients stayed there
    assert shell.tally().both_active != ()


def test_two_active_sites_need_a_name(shell: Shell) -> None:
    """Law (promise 16): without one it is refused unattended, before anything is changed; the dry run says the same."""
    by_hand(shell, *STATES[BOTH_ACTIVE])
    refused(shell, repair(shell, "ny", "--yes"), "leave-behind", "add --accept-loss TEXT")
    dry = repair(shell, "ny", "--dry-run")
    assert (dry.code, "WOULD REFUSE: the run will ask leave-behind" in dry.out) == (3, True)
    assert shell.roles() == BOTH_ACTIVE


@pytest.mark.parametrize(("faults", "sent"), [(STATES[BOTH_STANDBY], "active"), (STATES[BOTH_ACTIVE], "standby")])
def test_the_dry_run_has_the_literal_commands(shell: Shell, faults: tuple[str, ...], sent: str) -> None:
    """Law: it prints what both queues hold and every command, and sends none."""
    by_hand(shell, *faults)
    before = shell.roles()
    dry = repair(shell, "nj", "--dry-run", *WHY)
    assert dry.code == 0, dry.out
    device = "NJ_Appliance1" if sent == "active" else "NY_Appliance1"
    assert any(line.split()[:2] == ["SEND", f"{device}>"] and sent in line for line in dry.out.splitlines())
    assert " in its replication queue; nj is " in dry.out
    assert (shell.roles(), dict(shell.tally().commands)) == (before, {})


def test_a_healthy_pair_is_not_repaired(shell: Shell) -> None:
    """Law: a service with one active site is refused by name, and left out of --all."""
    complained(repair(shell, "nj", "--yes"), 3, "ny is active", "there is nothing to repair")
    assert "`failover controlled" in repair(shell, "nj", "--yes").hint
    complained(shell("repair", "--all", "--site", "nj", "--yes"), 3, "there is nothing to repair")
    set_role(shell, VPN, "ny", "standby")
    ended = shell("repair", "--all", "--site", "nj", "--yes")
    assert ended.code == 0, ended.out
    assert "left out, because these services have one active site: " in ended.out
    assert (shell.roles(), shell.roles("Risk_VPN")) == (("standby", "active"), ("active", "standby"))


def test_two_kinds_of_states_are_two_runs(shell: Shell) -> None:
    """Law: no run has two runbooks: which service needs which is reported, and nothing starts."""
    set_role(shell, VPN, "ny", "standby")
    set_role(shell, "Risk_VPN", "nj", "active")
    complained(
        shell("repair", "--all", "--site", "nj", "--yes"), 3, f"{VPN}: no active site; Risk_VPN: two active sites"
    )


def test_a_silent_site_is_not_guessed(shell: Shell) -> None:
    """Law: a role that is not reported is unknown, and nothing is repaired on it."""
    by_hand(shell, *STATES[BOTH_STANDBY])
    shell.disturb("reads: garbage reply 1h")
    complained(repair(shell, "nj", "--yes"), 3, "does not report its role")


def test_an_unfinished_run_comes_first(shell: Shell) -> None:
    """Law: two standby sites that a run of ours made belong to that run: it is named, and no repair starts."""
    assert shell("controlled", "--vpn", VPN, "--yes", "--xa", "stop").code == 6
    assert shell.roles() == BOTH_STANDBY
    ended = repair(shell, "nj", "--yes")
    assert (ended.code, shell.run_name() in ended.complaint) == (8, True)


def test_the_way_back_delivers_what_stayed(shell: Shell) -> None:
    """Law: after the restore and a move to the site that was made standby, its queue drains to the mate: all is there."""
    by_hand(shell, *STATES[BOTH_ACTIVE])
    assert repair(shell, "nj", "--yes", *WHY).code == 0
    assert shell("restore", "--vpn", VPN, "--site", "ny", "--yes", "--xa", shell.decisions).code == 0
    assert shell("controlled", "--vpn", VPN, "--from", "nj", "--yes", "--xa", shell.decisions).code == 0
    assert shell.roles() == ("active", "standby")
    pass_time(shell, 10)
    assert shell.move().code == 0  # only with an empty queue
    assert (queued(shell, "ny"), shell.tally().lost) == (0, 0)


def test_amps_has_no_roles_to_repair(shell: Shell) -> None:
    """Law: another family is not taken for message VPNs: it says that it has no roles, and what there is instead."""
    sites = {name: {"adapter": "mock-amps", "devices": [{"name": name}], "options": {}} for name in ("ny", "nj")}
    document = {"sites": sites, "pairs": [{"name": "p", "sites": ["ny", "nj"], "services": ["orders"]}]}
    inventory = shell.write("amps.json", json.dumps(document))
    ended = shell("repair", "--service", "orders", "--site", "ny", "-i", str(inventory))
    complained(ended, 2, "the family amps does not offer repair")
    assert "no roles" in ended.err


def test_the_record_of_a_repair_is_a_move(shell: Shell) -> None:
    """Law: its report names both sites' readings, the reason, and which runbook it was."""
    by_hand(shell, *STATES[BOTH_ACTIVE])
    assert repair(shell, "nj", "--yes", *WHY).code == 0
    journal = shell.tools().journal()
    try:
        report = build(journal.records(shell.run_name()))
    finally:
        journal.close()
    assert (report.runbook, report.source, report.target) == ("solace/repair-active", "ny", "nj")
    assert report.lanes[0].decisions[0].reason == WHY[1]
    assert any("in its replication queue" in note for note in report.notes)

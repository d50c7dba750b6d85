"""Who may act: one process for a run, one run for a service; and what a process that lost its lease can still do."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import sqlalchemy as sa

from orchestrator.clock import VirtualClock
from orchestrator.errors import Forbidden, LeaseHeld, LeaseLost, NoSuchRun
from orchestrator.journal.journal import Journal, Writer
from orchestrator.journal.lease import (
    LEASE_SECONDS,
    Lease,
    claims,
    create_run,
    is_led,
    lease_left,
    service_key,
    take,
)
from orchestrator.journal.process_identity import holder_is_dead, holder_name
from orchestrator.model import events as ev
from orchestrator.model.inventory import Device
from tests.core.builders import a_plan, created
from tests.journal.ageing import age, age_leases, wait_out

Opener = Callable[..., Journal]
PLAN = a_plan()
KEYS = {service_key(PLAN, "Trading"): "Trading"}
# How long a test may take on a slow machine before a server's own clock shows it, seconds.
SLACK = 10.0
STARTED = [(None, ev.RunStarted(by="ann", epoch=1, attended=False))]


def a_run(journal: Journal, clock: VirtualClock, name: str = "run-1", plan: ev.Plan = PLAN) -> tuple[Lease, Writer]:
    return create_run(journal, clock, name, created(plan))


def at_devices(devices: Callable[[str], Sequence[Device]], plan: ev.Plan = PLAN) -> ev.Plan:
    """The plan for sites that have these devices, by the site's name."""
    sites = {
        name: site.model_copy(update={"devices": tuple(devices(name))}) for name, site in plan.inventory.sites.items()
    }
    return plan.model_copy(update={"inventory": plan.inventory.model_copy(update={"sites": sites})})


# --- one process for a run -----------------------------------------------------------------------------------------


def test_whoever_creates_a_run_leads_it(opened: Opener, clock: VirtualClock) -> None:
    """The first record, the claims and the lease of epoch 1 are one commit."""
    lease, writer = a_run(opened(), clock)
    assert (lease.epoch, lease.expires_at, writer.seq) == (1, clock.now() + LEASE_SECONDS, 1)
    row = opened().row("run-1")
    assert (row.epoch, row.holder) == (1, holder_name())
    assert LEASE_SECONDS - SLACK < lease_left(row, clock.now()) <= LEASE_SECONDS
    assert claims(opened()) == {next(iter(KEYS)): "run-1"}


def test_a_service_on_devices_with_long_names_can_be_claimed(opened: Opener, clock: VirtualClock) -> None:
    """A name of a host may have 253 characters, and two pairs have four of them; a server's column has its measure."""
    plan = at_devices(lambda site: [Device(name=site + node, address=(site + node) * 60) for node in "ab"])
    a_run(opened(), clock, plan=plan)
    assert claims(opened()) == {service_key(plan, "Trading"): "run-1"}
    with pytest.raises(LeaseHeld):
        a_run(opened(), clock, "run-2", plan=plan)


def test_a_device_is_the_same_over_every_protocol(opened: Opener, clock: VirtualClock) -> None:
    """Promise 5: one inventory goes by SSH, another by SEMP; what they move is the same service, so one run moves it."""
    a_run(opened(), clock, plan=at_devices(lambda site: [Device(name="one", address=f"{site}.example.com")]))
    semp = at_devices(lambda site: [Device(name="1", address=f"{site}.Example.com", port=1943)])
    with pytest.raises(LeaseHeld, match="Trading belongs to run run-1"):
        a_run(opened(), clock, "run-2", plan=semp)


def test_on_this_machine_a_port_is_a_device(opened: Opener, clock: VirtualClock) -> None:
    """Labs and tunnels have all their sites at one address: here the port is what tells them apart."""
    for run, port in (("run-1", 2201), ("run-2", 2203)):
        plan = at_devices(lambda site, port=port: [Device(name=site, address="127.0.0.1", port=port)])  # type: ignore[misc]
        a_run(opened(), clock, run, plan=plan)
    assert len(claims(opened())) == 2


def test_a_led_run_cannot_be_taken(opened: Opener, clock: VirtualClock) -> None:
    """Promise 5: while its lease lasts nobody else gets the run, and the error says who leads and how long still."""
    a_run(opened(), clock)
    age(opened(), clock, LEASE_SECONDS - 5)
    with pytest.raises(LeaseHeld, match=rf":{os.getpid()}, last heard of 1[0-4]s ago$") as refused:
        take(opened(), clock, "run-1", KEYS)
    gone = "if that process no longer runs, its lease ends by itself in [0-5]s"
    assert re.fullmatch(f"see what the run waits for with `failover runs show run-1`; {gone}", refused.value.hint)


def test_an_expired_lease_is_taken_under_a_higher_epoch(opened: Opener, clock: VirtualClock) -> None:
    """Whoever takes the run over gets the next epoch and goes on where the record stands."""
    _, writer = a_run(opened(), clock)
    wait_out(opened(), clock)
    lease, other = take(opened(), clock, "run-1", KEYS)
    assert (lease.epoch, other.epoch, other.seq, other.head) == (2, 2, writer.seq, writer.head)


def test_a_released_lease_is_free_at_once(opened: Opener, clock: VirtualClock) -> None:
    """A process that lets go makes nobody wait."""
    lease, _ = a_run(opened(), clock)
    lease.release()
    assert not is_led(opened().row("run-1"), clock.now())
    assert take(opened(), clock, "run-1", KEYS)[0].epoch == 2


def test_a_renewed_lease_lasts(opened: Opener, clock: VirtualClock) -> None:
    """Renewing in time keeps others out for as long as one likes."""
    lease, _ = a_run(opened(), clock)
    for _ in range(5):
        clock.advance_to(lease.renew_at)
        lease.renew()
        assert lease.expires_at == clock.now() + LEASE_SECONDS
        with pytest.raises(LeaseHeld):
            take(opened(), clock, "run-1", KEYS)


def test_an_unknown_run_cannot_be_taken(opened: Opener, clock: VirtualClock) -> None:
    """Taking a run that is not there says so."""
    with pytest.raises(NoSuchRun):
        take(opened(), clock, "nowhere", {})


# --- what a stale holder can do: nothing ---------------------------------------------------------------------------


def test_a_stale_writer_can_append_nothing(opened: Opener, clock: VirtualClock) -> None:
    """Promise 5: after somebody took over, an append under the old epoch writes nothing and raises ``LeaseLost``."""
    old = opened()
    _, writer = a_run(old, clock)
    wait_out(opened(), clock)
    _, newer = take(opened(), clock, "run-1", KEYS)
    with pytest.raises(LeaseLost, match="led by another process"):
        old.append(writer, clock.now(), STARTED)
    assert len(list(opened().records("run-1"))) == 1
    opened().append(newer, clock.now(), STARTED)
    with pytest.raises(LeaseLost):
        old.append(writer, clock.now(), STARTED)
    assert len(list(opened().records("run-1"))) == 2


def test_two_writers_of_one_epoch_cannot_both_write(opened: Opener, clock: VirtualClock) -> None:
    """Even under the same epoch a writer that missed a record writes nothing: number and epoch must both fit."""
    _, writer = a_run(opened(), clock)
    opened().append(writer, clock.now(), STARTED)
    with pytest.raises(LeaseLost):
        opened().append(writer, clock.now(), [(None, ev.RunPaused(reason="SIGINT"))])
    assert len(list(opened().records("run-1"))) == 2


def test_what_was_written_already_is_not_written_again(opened: Opener, clock: VirtualClock) -> None:
    """An append whose answer was lost is made again, and the record has it once: number and hash of the run's last
    record say whether it was written. One that was taken over since is not taken for it."""
    journal = opened()
    _, writer = a_run(journal, clock)
    once = journal.append(writer, clock.now(), STARTED)
    assert journal.append(writer, clock.now(), STARTED) == once
    assert len(list(opened().records("run-1"))) == 2
    wait_out(journal, clock)
    take(opened(), clock, "run-1", KEYS)
    with pytest.raises(LeaseLost):
        journal.append(writer, clock.now(), STARTED)


def test_a_stale_holder_cannot_renew(opened: Opener, clock: VirtualClock) -> None:
    """Promise 5: a process that slept through its lease does not get it back by renewing."""
    lease, _ = a_run(opened(), clock)
    wait_out(opened(), clock)
    take(opened(), clock, "run-1", KEYS)
    with pytest.raises(LeaseLost):
        lease.renew()


def test_a_stale_holder_s_release_takes_nothing_away(opened: Opener, clock: VirtualClock) -> None:
    """Letting go of a lease that somebody else has by now is no error, and does not end theirs."""
    lease, _ = a_run(opened(), clock)
    wait_out(opened(), clock)
    take(opened(), clock, "run-1", KEYS)
    lease.release()
    assert is_led(opened().row("run-1"), clock.now())


def test_the_permit_ends_before_the_lease(opened: Opener, clock: VirtualClock) -> None:
    """A command may leave only while 2 seconds of the lease are left, by the process's own clock."""
    lease, _ = a_run(opened(), clock)
    clock.advance(LEASE_SECONDS - 2.001)
    lease.check()
    clock.advance(0.002)
    with pytest.raises(Forbidden):
        lease.check()


def test_a_revoked_lease_permits_nothing(opened: Opener, clock: VirtualClock) -> None:
    """Once revoked nothing leaves any more, whatever the clock says."""
    lease, _ = a_run(opened(), clock)
    lease.revoke()
    with pytest.raises(Forbidden):
        lease.check()


def test_a_permit_knows_of_a_higher_epoch(opened: Opener, clock: VirtualClock) -> None:
    """Promise 5 where clocks differ: whoever took over by a clock that is ahead of ours has taken our permit with it,
    though by our own clock there is time left."""
    lease, _ = a_run(opened(), clock)
    age_leases(opened(), LEASE_SECONDS + 0.001)
    take(opened(), VirtualClock(clock.now() + LEASE_SECONDS + 0.001), "run-1", KEYS)
    with pytest.raises(Forbidden, match="led by another process now, so the command was not sent"):
        lease.check()


def test_a_permit_that_cannot_be_asked_is_none(opened: Opener, clock: VirtualClock) -> None:
    """While the journal cannot tell who leads the run no command leaves, whatever our own clock says."""
    journal = opened()
    lease, _ = a_run(journal, clock)
    with journal.engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE runs RENAME TO runs_away")
    with pytest.raises(Forbidden, match="so the command was not sent: the journal could not be read"):
        lease.check()
    with journal.engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE runs_away RENAME TO runs")
    lease.check()


@pytest.mark.realtime
def test_who_is_stopped_in_the_middle_of_a_commit_keeps_nothing(postgresql: str, clock: VirtualClock) -> None:
    """Promise 5 on a server: a transaction that was begun and is never ended is ended by the server, no later than a
    lease; then the run is taken over, and what was written in that transaction is gone."""
    old, new = Journal(postgresql), Journal(postgresql)
    a_run(old, clock)
    stopped = old.engine.connect()
    assert stopped.exec_driver_sql("SHOW idle_in_transaction_session_timeout").scalar() == f"{LEASE_SECONDS:.0f}s"
    stopped.exec_driver_sql("SET idle_in_transaction_session_timeout = 200")
    stopped.commit()
    wait_out(new, clock)
    stopped.exec_driver_sql("UPDATE runs SET seq = 7")
    assert take(new, clock, "run-1", KEYS)[1].seq == 1
    with pytest.raises(sa.exc.DBAPIError, match="idle-in-transaction"):
        stopped.commit()
    stopped.invalidate()
    stopped.close()
    old.close()
    new.close()


# --- one run for a service -----------------------------------------------------------------------------------------


def test_a_claimed_service_is_refused(opened: Opener, clock: VirtualClock) -> None:
    """Two unfinished runs never move one service; the error names the run, who leads it, and what to do."""
    a_run(opened(), clock)
    with pytest.raises(LeaseHeld, match=r"Trading belongs to run run-1, which .* leads") as refused:
        a_run(opened(), clock, "run-2")
    assert refused.value.hint == (
        "wait until the run ends (`failover runs show run-1`), or roll it back: `failover abort run-1`"
    )
    assert [row.run for row in opened().runs()] == ["run-1"]


def test_a_runbook_of_another_family_claims_the_same(opened: Opener, clock: VirtualClock) -> None:
    """Law: a service on its devices is one service, whatever family the runbook says that it is of."""
    journal = opened()
    a_run(journal, clock)
    other = PLAN.model_copy(update={"runbook": PLAN.runbook.model_copy(update={"family": "another"})})
    with pytest.raises(LeaseHeld, match="run-1"):
        a_run(journal, clock, "run-2", other)


def test_a_service_of_a_dead_run_stays_claimed(opened: Opener, clock: VirtualClock) -> None:
    """A run that nobody leads any more still holds its services, until it is resumed or called off."""
    a_run(opened(), clock)
    wait_out(opened(), clock)
    with pytest.raises(LeaseHeld, match="which is unfinished, and no process leads the run") as refused:
        a_run(opened(), clock, "run-2")
    assert refused.value.hint == "resume the run: `failover resume run-1`; or roll it back: `failover abort run-1`"


def test_released_claims_are_free(opened: Opener, clock: VirtualClock) -> None:
    """A service whose lane has ended for good may be moved by the next run; the others stay claimed."""
    plan = a_plan(services=("Trading", "Orders"))
    lease, _ = a_run(opened(), clock, plan=plan)
    lease.release([service_key(plan, "Trading")])
    a_run(opened(), clock, "run-2")
    with pytest.raises(LeaseHeld, match="Orders belongs to run run-1"):
        a_run(opened(), clock, "run-3", a_plan(services=("Orders",)))


def test_a_resumed_run_claims_again(opened: Opener, clock: VirtualClock) -> None:
    """Taking a run claims what it still moves, and is refused if another run has it by now."""
    lease, _ = a_run(opened(), clock)
    lease.release(list(KEYS))
    a_run(opened(), clock, "run-2")
    with pytest.raises(LeaseHeld, match="belongs to run run-2"):
        take(opened(), clock, "run-1", KEYS)
    assert opened().row("run-1").epoch == 1


def test_the_same_service_by_another_name_of_the_pair() -> None:
    """A service is the same whatever an inventory calls pair and sites, in either direction; devices make it."""
    there = a_plan()
    back = there.model_copy(update={"source": there.target, "target": there.source})
    assert service_key(there, "Trading") == service_key(back, "Trading")
    assert service_key(there, "Trading") != service_key(there, "Orders")


def test_only_one_of_many_gets_it(opened: Opener, clock: VirtualClock) -> None:
    """However many begin or take over at the same moment, exactly one succeeds, and the others hear ``LeaseHeld``."""

    def race(attempt: Callable[[Journal, int], object]) -> list[BaseException | None]:
        journals = [opened() for _ in range(4)]
        ends: list[BaseException | None] = []
        line = threading.Barrier(len(journals))

        def one(number: int) -> None:
            line.wait()
            try:
                attempt(journals[number], number)
                ends.append(None)
            except LeaseHeld as error:
                ends.append(error)

        threads = [threading.Thread(target=one, args=(number,)) for number in range(len(journals))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=30)
        return ends

    begun = race(lambda journal, number: a_run(journal, clock, f"run-{number}"))
    assert sum(end is None for end in begun) == 1
    assert len(begun) == 4
    (run,) = opened().runs()
    wait_out(opened(), clock)
    taken = race(lambda journal, _: take(journal, clock, run.run, KEYS))
    assert (len(taken), sum(end is None for end in taken)) == (4, 1)
    assert opened().row(run.run).epoch == 2


# --- is the holder dead? -------------------------------------------------------------------------------------------


def other_holder(command: str = "import sys; sys.stdin.read()", **more: object) -> tuple[subprocess.Popen[str], str]:
    """A process that prints its own holder's name, and lives until its input ends."""
    code = (
        f"from orchestrator.journal.process_identity import holder_name; print(holder_name(), flush=True); {command}"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        **more,  # type: ignore[call-overload]
    )
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


@pytest.mark.realtime
def test_a_living_holder_is_not_dead() -> None:
    """A process that runs on this machine is not dead, ours and another one."""
    assert not holder_is_dead(holder_name())
    process, holder = other_holder()
    try:
        assert not holder_is_dead(holder)
    finally:
        end(process)


@pytest.mark.realtime
def test_a_forked_process_is_known_by_a_start_of_its_own() -> None:
    """What a process knows of itself is not true of one that it forked off."""
    holder_name()
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, holder_name().encode())
        os._exit(0)
    os.close(writing)
    told = os.read(reading, 4096).decode()
    os.close(reading)
    assert told == holder_name(child)
    os.waitpid(child, 0)


def test_a_dead_holder_is_dead_at_once() -> None:
    """A process killed on this machine is known to be dead, also while its parent has not noticed; nobody waits."""
    process, holder = other_holder()
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert holder_is_dead(holder)
    end(process)
    assert holder_is_dead(holder)


@pytest.mark.realtime
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a process of another account")
def test_a_holder_of_another_account_is_not_dead() -> None:
    """Promise 5: a process that we may not look into is alive all the same, seen from root and from an operator."""
    process, holder = other_holder()
    try:
        assert not holder_is_dead(holder)
        nobody = os.fork()
        if not nobody:
            _as_nobody(holder)
        assert os.waitstatus_to_exitcode(os.waitpid(nobody, 0)[1]) == 0
    finally:
        end(process)


def _as_nobody(holder: str) -> None:
    """In a child: give up every right, and look at a process of root's."""
    os.setgid(65534)
    os.setuid(65534)
    os._exit(1 if holder_is_dead(holder) else 0)


@pytest.mark.parametrize(
    "holder",
    [
        "",
        "elsewhere:1",
        f"elsewhere:{2**22}",
        "elsewhere:1 00000000-0000-0000-0000-000000000000/pid:[4026531836]/12345",
        "garbage",
        "host:abc x/y/z",
    ],
)
def test_without_proof_nobody_is_dead(holder: str) -> None:
    """A holder on another machine, or one that tells nothing of itself, is not dead as far as we can prove."""
    assert not holder_is_dead(holder)


def test_another_machine_of_the_same_name_proves_nothing() -> None:
    """A number that is free here may be in use on another machine, even one that is called the same."""
    name, _, identity = holder_name().partition(" ")
    host = name.rpartition(":")[0]
    _, namespace, started = identity.split("/")
    assert holder_is_dead(f"{host}:{2**22 - 1} {identity}")
    assert not holder_is_dead(f"{host}:{2**22 - 1} 11111111-2222-3333-4444-555555555555/{namespace}/{started}")


@pytest.mark.realtime
def test_the_run_of_a_dead_holder_is_free_at_once(opened: Opener, clock: VirtualClock, url: str) -> None:
    """Promise 4: after ``kill -9`` of the leader on this machine nobody has to wait for its lease to run out."""
    command = f"""
from orchestrator.clock import VirtualClock
from orchestrator.journal.journal import Journal
from orchestrator.journal.lease import create_run
from tests.core.builders import created
create_run(Journal({url!r}), VirtualClock(), "run-1", created())
print("made", flush=True)
import sys; sys.stdin.read()
"""
    process, _ = other_holder(f"exec({command!r})")
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "made"
    with pytest.raises(LeaseHeld):
        take(opened(), clock, "run-1", KEYS)
    end(process)
    assert take(opened(), clock, "run-1", KEYS)[0].epoch == 2

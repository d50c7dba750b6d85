"""`failover guard` for AMPS: an instance that comes back by itself takes no clients until it is restored."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from adapters.amps.offers.guard_decision import GuardObservation, decide_guard
from adapters.amps.reading_models import Transport, Transports
from orchestrator.model.outcome import Failure
from orchestrator.model.readings import Reachability
from tests.cli.shell import Ended, Shell
from tests.readiness.amps_night import LDN, NY, AmpsNight, amps_night

CLOSE = f"{NY} disable transports/1"
DONE = ("amps/guard", "done")


@pytest.fixture
def night(shell: Shell) -> Iterator[AmpsNight]:
    with amps_night(shell) as made:
        yield made


def guard(night: AmpsNight, *more: str, seconds: float = 300.0) -> Ended:
    night.stop_in(seconds)
    return night("guard", "--site", "ny", "--yes", *more)


def test_an_instance_that_comes_back(night: AmpsNight) -> None:
    """Law: its clients are sent away by one recorded run, and nobody is asked."""
    night.lose()
    night.meanwhile(60, night.start)
    ended = guard(night, "--reason", "power is out")
    assert ended.code == 0
    assert not night.lets_in(NY)
    assert night.lets_in(LDN)
    assert night.commands[-1:] == [CLOSE]
    assert night.runs()[-1] == DONE
    assert ended.out.splitlines()[-2:] == [
        next(line for line in ended.out.splitlines() if line.endswith("it stays guarded until it is restored")),
        "SIMULATED  stopped; the site is no longer guarded",
    ]
    exported = night.shell("runs", "export", "last").out
    assert "power is out" in exported
    assert "ny came back: it lets clients in for orders" in exported


def test_without_a_guard_clients_are_served_there(night: AmpsNight) -> None:
    """Negative control: nobody else keeps them away."""
    night.lose()
    night.start()
    night.shell.clock.advance(120)
    assert night.lets_in(NY)


def test_it_is_closed_again_after_another_start(night: AmpsNight) -> None:
    """Law: a start makes an instance forget what was disabled, so a guard does not end with its first run."""
    night.lose()
    night.meanwhile(60, night.start)

    def crash() -> None:
        night.world.kill(NY)
        night.world.start(NY)

    assert guard(night, seconds=120).code == 0
    night.meanwhile(30, crash)
    assert guard(night, seconds=120).code == 0
    assert night.runs()[-2:] == [DONE, DONE]
    assert not night.lets_in(NY)


def test_a_dark_instance_is_waited_for(night: AmpsNight) -> None:
    """Law: nothing is sent, and one line says that it does not answer, however long it takes."""
    night.lose()
    before = night.commands
    ended = guard(night, seconds=600)
    assert (ended.code, night.commands) == (0, before)
    assert [line.split("SIMULATED  ")[1] for line in ended.out.splitlines()] == [
        "ny: guarding ny for orders; Ctrl-C ends the guard",
        f"ny: it does not answer: nothing listens at {NY}",
        "stopped; the site is no longer guarded",
    ]


def test_it_ends_when_the_instance_is_restored(night: AmpsNight) -> None:
    """Law: what a restore lets in stays in: the guard finds the run in the record, and goes."""
    night.lose()
    night.start()
    assert guard(night, seconds=60).code == 0
    assert not night.lets_in(NY)

    def restore() -> None:
        assert night("restore", "--all", "--site", "ny", "--yes").code == 0

    night.meanwhile(30, restore)
    ended = guard(night, seconds=600)
    assert ended.code == 0
    assert ended.out.splitlines()[-1].startswith("SIMULATED  ny was restored by run "), "nothing is left to be done"
    assert night.lets_in(NY)
    assert night.runs()[-1] == ("amps/restore", "done")


def test_a_healthy_pair_is_not_guarded(night: AmpsNight) -> None:
    """Law: both let clients in, as sync links allow; without a record of a loss nobody is sent away."""
    before = night.commands
    for site in ("ny", "ldn"):
        night.stop_in(60)
        ended = night("guard", "--site", site, "--yes")
        assert ended.code == 3
        assert ended.complaint.startswith(f"{site} answers and lets clients in, and no record says that it failed")
    assert (night.commands, night.runs()) == (before, [])


def test_a_restored_instance_is_not_guarded(night: AmpsNight) -> None:
    """Law: it says by which run it was restored."""
    night.lose()
    night.start()
    assert night("restore", "--all", "--site", "ny", "--yes").code == 0
    ended = guard(night)
    assert ended.code == 3
    assert " restored it; guarding it would disconnect" in ended.complaint


def test_the_only_one_that_serves_is_not_guarded(night: AmpsNight) -> None:
    """Law: its mate serves nobody, so a guard would end the service."""
    night.act(LDN, "disable", "transports/1")
    night.shell.clock.advance(5)
    ended = guard(night)
    assert ended.code == 3
    assert "guarding ny could end the service" in ended.complaint


def test_it_leaves_the_instance_while_the_mate_serves_nobody(night: AmpsNight) -> None:
    """Law: the mate is looked at each time, not only at the beginning."""
    night.lose()
    night.act(LDN, "disable", "transports/1")
    night.meanwhile(30, night.start)
    ended = guard(night, seconds=120)
    assert (ended.code, night.lets_in(NY)) == (0, True)
    assert "ny: it answers, but its mate does not report that it lets clients in" in ended.out


def test_for_machines(night: AmpsNight) -> None:
    """Law: --json is one value a line, and all of them say that it is simulated."""
    night.lose()
    night.meanwhile(60, night.start)
    ended = guard(night, "--json")
    assert ended.err == ""
    states = [value["state"] for value in ended.values if "state" in value]
    # In between it has just started, and does not tell yet.
    assert [one for one in dict.fromkeys(states) if one != "unclear"] == ["guarding", "silent", "act", "safe"]
    assert all(value.get("result", value)["simulated"] is True for value in ended.values)


def doors(*states: bool | None) -> Transports:
    items = tuple(Transport(name=f"t{number}", replication=False, enabled=one) for number, one in enumerate(states))
    return Transports(items=items)


@pytest.mark.parametrize(
    ("here", "there", "kind"),
    [
        (doors(True), doors(True), "act"),
        (doors(True, False), doors(True), "act"),
        (doors(False), doors(True), "safe"),
        (doors(None), doors(True), "unclear"),
        (Failure(kind="UnreadableReply", text="no sense"), doors(True), "unclear"),
        (doors(True), doors(False), "leave"),
        (doors(True), doors(True, False), "leave"),
        (doors(True), doors(None), "leave"),
        (doors(True), Failure(kind="Unreachable", text="gone"), "leave"),
    ],
)
def test_what_is_to_be_done(here: Transports | Failure, there: Transports | Failure, kind: str) -> None:
    """Law: it acts only on what was read as open, and only while the mate was read as open."""
    reach = {"orders": Reachability(answers=True)}
    assert decide_guard(GuardObservation(reach, {"orders": here}, {"orders": there})).kind == kind
    assert decide_guard(GuardObservation({"orders": Reachability(answers=False)}, {}, {})).kind == "silent"

"""`failover watch` for AMPS: what the mate may lack, how long there is room, and nothing that could be suspended."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from adapters.amps.offers.outlook import Observation, outlook
from adapters.amps.reading_models import (
    Clients,
    Link,
    Links,
    Queue,
    Queues,
    TransactionLog,
    Transport,
    Transports,
)
from orchestrator.model.outcome import Failure
from tests.cli.shell import Ended, Shell
from tests.readiness.amps_night import LDN, NY, AmpsNight, amps_night


@pytest.fixture
def night(shell: Shell) -> Iterator[AmpsNight]:
    with amps_night(shell) as made:
        yield made


def watch(night: AmpsNight, *more: str, seconds: float = 60.0) -> Ended:
    night.stop_in(seconds)
    return night("watch", "--all", *more)


def told(ended: Ended, site: str) -> list[str]:
    """What was said of one site's instance."""
    marker = f"SIMULATED  orders at {site}: "
    return [line.split(marker)[1] for line in ended.out.splitlines() if marker in line]


def test_a_pair_that_is_well(night: AmpsNight) -> None:
    """Law: both instances are followed, each with its link, and nothing is changed."""
    before = night.commands
    ended = watch(night)
    assert ended.code == 0
    assert all(line.startswith("4 clients, open, link to ldn sync, 0 s behind, ") for line in told(ended, "ny")[1:])
    assert all(line.startswith("0 clients, open, link to ny sync, 0 s behind, ") for line in told(ended, "ldn")[1:])
    assert "!" not in ended.out
    assert ended.err.splitlines() == ["SIMULATED  stopped; the instances are no longer watched"]
    assert night.commands == before


def test_a_night(night: AmpsNight) -> None:
    """Law: loss, downgrade, return and resynchronisation are each said once, with what is to be done next."""
    night.world.kill(NY)
    night.meanwhile(30, lambda: night.act(LDN, "downgrade", f"replication/{NY}"))
    first = watch(night, seconds=60)
    lost = told(first, "ny")
    assert lost == [f"it does not answer: nothing listens at {NY}"], "said once, however long it goes on"
    acting = told(first, "ldn")
    assert any("link to ny NOT CONNECTED" in line and ", sync, " in line for line in acting)
    assert any("unknown how many messages ny lacks" in line for line in acting)
    assert sum("what to do: publishers wait for ny" in line for line in acting) == 1
    assert sum("its link is DOWNGRADED" in line for line in acting) == 1
    assert re.search(r"NOT CONNECTED for [45]\d s or longer, DOWNGRADED to async", acting[-1])
    night.meanwhile(30, night.start)
    second = watch(night, seconds=180)
    assert told(second, "ny").count("it answers again") == 1
    back = told(second, "ldn")
    assert sum("its link to its mate is connected again" in line for line in back) == 1
    advice = "! what to do: ny is back and keeps up: `failover restore orders --site ny` upgrades the link"
    assert back.count(advice) == 1


def test_one_site(night: AmpsNight) -> None:
    """Law: --site follows that one alone; one that the pair does not have is named."""
    ended = watch(night, "--site", "ldn")
    assert (bool(told(ended, "ldn")), told(ended, "ny")) == (True, [])
    ended = watch(night, "--site", "paris")
    assert (ended.code, ended.complaint) == (2, "'paris' is not a site of the pair orders")


def test_nothing_can_be_suspended(night: AmpsNight) -> None:
    """Law: an option that could do nothing is refused, and it is said why."""
    ended = watch(night, "--suspend-at", "80%")
    assert ended.code == 2
    assert ended.complaint.startswith("AMPS cannot suspend replication")


def test_for_machines(night: AmpsNight) -> None:
    """Law: one value a look and instance, what is unknown is null, and all of them say that it is simulated."""
    night.world.kill(NY)
    ended = watch(night, "--json", seconds=30)
    assert ended.err == ""
    assert all(value.get("result", value)["simulated"] is True for value in ended.values)
    rows = [value for value in ended.values if value.get("site") == "ldn"]
    assert {row["state"] for row in rows} <= {"linked", "waiting", "behind"}
    assert rows[-1] | {"state": "waiting", "connected": False, "downgraded": False, "sync": True} == rows[-1]
    assert rows[-1]["unreplicated_messages"] is None
    assert rows[-1]["cut_s"] > 0
    gone = [value for value in ended.values if value.get("site") == "ny"]
    assert {(row["state"], row["connected"], row["clients"]) for row in gone} == {("silent", None, None)}
    assert ended.result["services"]["orders"]["ldn"]["state"] == "waiting"


def test_readings_are_kept(night: AmpsNight) -> None:
    """Law: with --readings the links of both instances are kept, one file a look and site."""
    folder = night.shell.folder / "kept"
    watch(night, "--readings", str(folder), seconds=20)
    lines = [path.read_text() for path in folder.iterdir()]
    assert len(lines) >= 4
    assert all('"links"' in line for line in lines)


# The outlook

CUT = Links(mate="m", interval_s=10.0, items=(Link(name="m", connected=False, sync=False, configured_sync=True),))
CALM = Link(name="m", connected=True, sync=True, configured_sync=True, behind_s=0.0, calm_s=60.0, steady_s=60.0)
ROOMY = TransactionLog(bytes=10 * 1024**2, capacity_bytes=1024**3, oldest_at=0.0, newest_at=600.0, outage_s=3_600.0)
LOOK = Observation(
    transports=Transports(items=(Transport(name="t", replication=False, enabled=True),)),
    clients=Clients(count=3),
    links=Links(mate="m", interval_s=10.0, items=(CALM,)),
    queues=Queues(items=(Queue(name="q", depth=7, owned=5),)),
    log=ROOMY,
)


def links(**changes: Any) -> Links:
    return Links(mate="m", interval_s=10.0, items=(CALM.model_copy(update=changes),))


def said(look: Observation) -> tuple[str, str]:
    found = outlook(look, service="orders", mate="ny")
    return found.state, found.sentence


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, "linked"),
        ({"sync": False}, "behind"),
        ({"sync": False, "configured_sync": False}, "linked"),
        ({"behind_s": 40.0}, "behind"),
        ({"behind_s": 1.0}, "linked"),
        ({"behind_s": None}, "unknown"),
        ({"connected": False}, "waiting"),
        ({"connected": False, "sync": False}, "alone"),
        ({"connected": False, "sync": False, "configured_sync": False}, "alone"),
        ({"connected": False, "sync": None}, "unknown"),
        ({"connected": None}, "unknown"),
    ],
)
def test_states(changes: dict[str, Any], state: str) -> None:
    """Law: each state follows from what was read of the link, and what was not read is unknown."""
    assert said(replace(LOOK, links=links(**changes)))[0] == state


def test_everything_told() -> None:
    """Law: a whole look is one sentence."""
    assert said(LOOK)[1] == (
        "3 clients, open, link to ny sync, 0 s behind, queue messages 7, owned here 5, journals 10 MB, 1.0% full, "
        "room for 17 h"
    )


def test_nothing_told() -> None:
    """Law: what failed is unknown, with its reason; no figure stands for it."""
    look = Observation.of({"links": Failure(kind="UnreadableReply", text="no sense")})
    assert said(look) == (
        "unknown",
        "clients unknown, unknown whether it lets clients in, unknown whether its link to ny is connected, "
        "queues unknown, journals unknown, unknown: links: no sense",
    )


@pytest.mark.parametrize(
    ("log", "advice"),
    [
        ({}, ""),
        ({"outage_s": 864_000.0}, "journals have space for an outage of 17 h, but the inventory asks for 10 d"),
        ({"bytes": 900 * 1024**2}, "AMPS keeps journals until ny has them, and cannot suspend that"),
        ({"capacity_bytes": 12 * 1024**2, "newest_at": 60.0}, "AMPS keeps journals until ny has them"),
        ({"capacity_bytes": None}, ""),
    ],
)
def test_what_to_do_about_the_journals(log: dict[str, Any], advice: str) -> None:
    """Law: while the mate is away, room that runs out is said with what helps; a suspension is not offered."""
    look = replace(LOOK, links=CUT, log=ROOMY.model_copy(update=log))
    found = outlook(look, service="orders", mate="ny").advice
    assert found.startswith(advice) if advice else found == ""
    assert outlook(replace(look, links=LOOK.links), service="orders", mate="ny").advice == ""


def test_headroom_that_nobody_wrote_down() -> None:
    """Law: without a capacity in the inventory headroom is unknown, and a full disk is said as such."""
    look = replace(LOOK, log=ROOMY.model_copy(update={"capacity_bytes": None}))
    assert "journals 10 MB, headroom unknown (no journal_capacity in the inventory)" in said(look)[1]
    look = replace(LOOK, log=ROOMY.model_copy(update={"capacity_bytes": 10 * 1024**2}))
    assert "journals 10 MB, FULL" in said(look)[1]

"""`failover rehearse` for AMPS: a copy made of what inventory and instances say, with what is assumed by name."""

from __future__ import annotations

import re
import shlex
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from adapters.mock.amps.scene import fitted_faults
from orchestrator.errors import DefinitionError
from orchestrator.operations.rehearsal.drills import faults_for
from simulator.amps.copies import Known, assumptions, copied_fabric
from tests.amps_admin.desk import Desk
from tests.amps_admin.instance import answer
from tests.cli.shell import Ended

ROOT = Path(__file__).parents[2]
DRILLS = sorted((ROOT / "examples" / "drills" / "amps").glob("*.txt"))
KINDS: dict[str, tuple[str, ...]] = {
    "controlled": (),
    "uncontrolled": ("--attest", "host is off", "--accept-loss", "head of desk"),
    "restore": ("--attest", "compared"),
    "failback": (),
}


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A healthy pair of scripted instances, and a shell to rehearse on a copy of it."""
    for name in ("STATE", "JOURNAL", "INVENTORY", "TRACEBACK"):
        monkeypatch.delenv(f"FAILOVER_{name}", raising=False)
    monkeypatch.setenv("FAILOVER_USER", "ann")
    return Desk(tmp_path, capsys)


def rehearse(desk: Desk, kind: str, *more: str) -> Ended:
    """At once, with nobody there."""
    ended: Ended = desk.run("rehearse", kind, "--all", "--fast", "--seed", "11", *more)
    return ended


def facts(desk: Desk, *more: str) -> Any:
    """What the copy is made of."""
    return rehearse(desk, "controlled", "--dry-run", "--json", *more).values[0]["rehearsal"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("link", ["sync", "async"])
def test_every_kind(desk: Desk, kind: str, link: str) -> None:
    """Law: each procedure is rehearsed from the start that it needs, to its good end; nothing real is touched."""
    desk.inventory(link)
    more = KINDS[kind]
    ended = rehearse(desk, kind, *more, "--offline")
    assert ended.code == 0, ended.err[-2_000:]
    suffix = "-async" if link == "async" and kind != "restore" else ""
    assert f"SIMULATED  amps/{kind}{suffix}: " in ended.out
    # A loss across async links gives messages up, also the one that a return follows.
    assert "counted: 0 messages lost" in ended.out or (link == "async" and kind != "controlled")
    assert ("both instances never let clients in at the same time" in ended.out) is (link == "async")
    assert desk.pair.heard == []
    assert not (desk.shell.state / "journal.sqlite").exists()


def test_an_instance_that_lost_its_data(desk: Desk) -> None:
    """Law: with --bootstrap the copy of the instance comes back empty, and fetches what it had."""
    ended = rehearse(desk, "restore", "--bootstrap", "--attest", "journal moved to /save")
    assert ended.code == 0, ended.err[-2_000:]
    assert "SIMULATED  amps/restore-bootstrap" in ended.out
    assert "instance has fetched messages" in ended.err


def test_records_that_differ_are_accepted_beforehand(desk: Desk) -> None:
    """Law: the answer to other numbers of SOW records is given with a return by bootstrap, for AMPS, and recorded."""
    words = ("--bootstrap", "--attest", "moved to /save", "--accept-sow", "compared by ann")
    ended = rehearse(desk, "restore", *words, "--json")
    assert ended.code == 0, ended.err[-2_000:]
    created = next(value for value in ended.values if value.get("event", {}).get("kind") == "run.created")
    policy = created["event"]["plan"]["policy"]
    assert (policy["on_gate"]["sow-incomplete"], policy["reasons"]["sow-incomplete"]) == ("accept", "compared by ann")
    alone = rehearse(desk, "restore", "--accept-sow", "compared by ann")
    assert (alone.code, "add --bootstrap" in alone.err) == (2, True)


def test_instances_have_no_roles_to_repair(desk: Desk) -> None:
    """Law: a repair of AMPS is refused before a copy is made, as the command itself refuses it."""
    ended = rehearse(desk, "repair", "--offline")
    assert (ended.code, "no roles" in ended.err) == (2, True)


def test_everything_says_simulated(desk: Desk) -> None:
    """Law (promise 13): every line of progress and every JSON value says it."""
    ended = rehearse(desk, "controlled")
    assert all("SIMULATED" in line for line in ended.err.splitlines())
    assert "SIMULATED  the rehearsal" in ended.out
    values = rehearse(desk, "controlled", "--json").values
    assert all(value.get("result", value)["simulated"] is True for value in values)


def test_what_the_instances_say_is_in_the_copy(desk: Desk) -> None:
    """Law: group, links, samples and queues are those of the instances, and no longer assumed."""
    ended = rehearse(desk, "controlled")
    told = "amps-1 at ny (group NYC, sync, a sample each 10s) and amps-2 at nj (group NYC, sync, a sample each 10s)"
    assert f"SIMULATED    {told}; " in ended.err
    assert "SIMULATED    ny: as read from it now" in ended.err
    copy = facts(desk)
    assert copy["read"] == ["ny", "nj"]
    assert set(copy["publish_rates"]) == {"amps-1/JOBS-feed", "amps-1/orders-feed"}
    # Its configuration names no topic, but the expression for all.
    assert copy["assumed"][0] == "amps-1, amps-2: it has one topic, with records"
    assert not any("group" in text or "samples" in text or "queue" in text for text in copy["assumed"])
    assert desk.pair.heard == []


def test_what_nobody_says_is_named(desk: Desk) -> None:
    """Law: of an instance that does not answer, every assumption is on the screen, with the reason why it is one."""
    desk.pair.lose("nj")
    ended = rehearse(desk, "controlled")
    assert ended.code == 0, ended.err[-2_000:]
    assert re.search(r"^SIMULATED    nj: not read: .*amps-2", ended.err, re.M)
    mate = Known("amps-1", "ny", sync=True, queues=())
    texts = list(assumptions(Known("amps-2", "nj", sync=True), mate))
    assert "it has the queues of its mate" in texts
    for text in texts:
        assert re.search(rf"^SIMULATED    assumed: [^:]*amps-2: {re.escape(text)}$", ended.err, re.M), text
    assert "amps-1: its group" not in ended.err
    assert "SIMULATED    assumed: nj: it lets clients in" in ended.err.splitlines()
    assert facts(desk)["read"] == ["ny"]


def test_offline_nothing_is_looked_at(desk: Desk) -> None:
    """Law: not one request leaves, and that is said."""
    asked: list[str] = []

    def reaches() -> bool:
        asked.append("somebody")
        return True

    for wire in desk.pair.wires.values():
        wire.reaches = reaches
    copy = facts(desk, "--offline")
    assert (copy["read"], asked) == ([], [])
    assert facts(desk)["read"] == ["ny", "nj"]
    assert asked, "the control: these would have noticed"


def test_a_password_that_somebody_types_is_not_asked_for(desk: Desk) -> None:
    """Law: a rehearsal asks for no secret."""
    path = desk.folder / "amps.yaml"
    path.write_text(path.read_text().replace("{env: AMPS_PASSWORD}", "{prompt: true}"))
    ended = rehearse(desk, "controlled")
    assert ended.code == 0
    assert "SIMULATED    ny: not read: an operator would have to type its password" in ended.err.splitlines()


def test_how_they_stand_now_is_not_how_it_begins(desk: Desk) -> None:
    """Law: the source of the rehearsal serves, whatever is so at this moment; where that differs, it is said."""
    desk.pair.ny.one("transports")["is_enabled"] = "0"
    desk.pair.link("nj", replication_type="async")
    desk.pair.clock.advance(10)
    ended = rehearse(desk, "controlled")
    assert ended.code == 0
    assert (
        "SIMULATED    assumed: amps-1: the copy lets clients in, although the instance does not now"
        in ended.err.splitlines()
    )
    assert (
        "SIMULATED    assumed: nj: the link of orders is downgraded at the site, but not in the copy"
        in ended.err.splitlines()
    )


def test_a_target_that_is_closed_is_closed_in_the_copy(desk: Desk) -> None:
    """Law: then the move opens it; the control is a target that is open."""
    assert "left out: nj: open" in rehearse(desk, "controlled").err
    desk.pair.nj.one("transports")["is_enabled"] = "0"
    desk.pair.clock.advance(10)
    assert "left out: nj: open" not in rehearse(desk, "controlled").err


def test_initial_states_are_those_of_the_configuration(desk: Desk) -> None:
    """Law: whether clients come back by themselves after an outage is what the configuration says: here they do."""
    assert "start disabled" not in str(facts(desk)["assumed"])
    assert rehearse(desk, "restore").code == 0
    for one in desk.pair.instances.values():
        one.answers["/amps/instance/config.xml"] = answer(503, "")
    assert "amps-1, amps-2: its client transports start disabled" in facts(desk)["assumed"]


def test_the_same_again(desk: Desk) -> None:
    """Law: what it prints for a repetition is understood, and ends the same."""
    first = rehearse(desk, "uncontrolled", *KINDS["uncontrolled"], "--offline")
    line = re.search(r"to repeat this rehearsal: failover (.*)$", first.out, re.M)
    assert line is not None
    again = desk.shell(*shlex.split(line[1]))
    assert (again.code, again.out) == (first.code, first.out)


def test_kept(desk: Desk) -> None:
    """Law: with --keep the record and the copy stay, and are read like any other."""
    ended = rehearse(desk, "controlled", "--keep")
    kept = re.search(r"FAILOVER_STATE=(\S+) failover runs show", ended.out)
    assert kept is not None
    assert desk.shell("status", "-i", f"{kept[1]}/inventory.yaml").out.startswith("SIMULATED")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--drill", "bridge-lost"), "there is no drill 'bridge-lost'"),
        (("--fault", "drain: bridge down"), "not a fault: 'drain: bridge down'"),
        (("--fault", "at 1s: kill amps-9"), "'at 1s: kill amps-9': there is no instance amps-9"),
    ],
)
def test_mistakes(desk: Desk, words: tuple[str, ...], complaint: str) -> None:
    """Law: what is for appliances, or for nobody, is exit code 2, and one sentence that names it."""
    ended = rehearse(desk, "controlled", *words)
    assert ended.code == 2
    assert ended.complaint.startswith(complaint)


def test_several_services(desk: Desk) -> None:
    """Law: each has its own instances in the copy; instances of one name at both sites are told apart by their site."""
    path = desk.folder / "amps.yaml"
    text = path.read_text().replace("services: [orders]", "services: [orders, jobs]")
    for site in ("ny", "nj"):
        number = {"ny": 1, "nj": 2}[site]
        text = text.replace(
            f"[{{name: amps-{number}, address: {site}.example.com, port: 8085}}]",
            f"[{{name: orders, address: {site}.example.com}}, {{name: jobs, address: {site}.example.com}}]",
        )
    path.write_text(text)
    ended = rehearse(desk, "controlled", "--offline", "--json")
    assert ended.code == 0, ended.err
    assert set(ended.values[-1]["simulated_account"]) == {"orders", "jobs"}
    assert {one.split("/")[0] for one in ended.values[0]["rehearsal"]["publish_rates"]} == {"ny-orders", "ny-jobs"}
    path.write_text(text.replace("link: sync}", "link: sync, services: {jobs: {device: orders}}}", 1))
    ended = rehearse(desk, "controlled", "--offline")
    assert ended.complaint == "services share an instance of ny but have different mates; a copy cannot have that"


def test_traffic_is_drawn_from_the_seed() -> None:
    """Law: the same seed gives the same copy, another one another."""
    pair = (Known("A", "ny", sync=True), Known("B", "nj", sync=True))
    assert copied_fabric([pair], seed=1) == copied_fabric([pair], seed=1)
    assert copied_fabric([pair], seed=1) != copied_fabric([pair], seed=2)


# Drills


def said(drill: Path, what: str) -> str:
    """What the comment of a drill says after ``Try:`` or ``Unattended:``."""
    found = re.search(rf"^# {what}: +(.*)$", drill.read_text(), re.M)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("drill", DRILLS, ids=lambda path: path.stem)
def test_a_drill_ends_as_it_says(desk: Desk, drill: Path) -> None:
    """Law: the suggested command works as it stands, and ends with the exit code that the drill names."""
    wanted = re.match(r"exit code (\d)", said(drill, "Unattended"))
    assert wanted is not None
    program, *words = shlex.split(said(drill, "Try"))
    assert program == "failover"
    words += [] if "--fast" in words else ["--fast"]
    assert desk.run(*words, "--seed", "11").code == int(wanted[1])


def test_every_drill_is_listed() -> None:
    """Law: the page has a line for each, and no other."""
    page = (ROOT / "examples" / "drills" / "README.md").read_text()
    assert set(re.findall(r"^\| \[([a-z-]+)\]\(amps/\1\.txt\) \|", page, re.M)) == {one.stem for one in DRILLS}
    assert len(DRILLS) >= 5


def test_source_and_target_are_instances() -> None:
    """Law: a line becomes a line for each service; a name that only looks like it stays."""
    fitted = partial(fitted_faults, pairs=[("ny-a", "ldn-a"), ("ny-b", "ldn-b")])
    assert faults_for(["at 1s: link SOURCE TARGET down", "disable: lose reply", "# no"], fitted) == [
        "at 1s: link ny-a ldn-a down",
        "at 1s: link ny-b ldn-b down",
        "disable: lose reply",
    ]
    assert faults_for(["at 1s: kill MY_SOURCE"], fitted) == ["at 1s: kill MY_SOURCE"]
    with pytest.raises(DefinitionError, match="not a fault"):
        faults_for(["at 1s: node SOURCE/* down"], fitted)

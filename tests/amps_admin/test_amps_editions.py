"""What a real administration interface may answer otherwise: what is read of each edition, and how a move ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from adapters.amps.client import refusal_of
from adapters.amps.reading_models import Instance, Transports
from adapters.http.exchange import Reply
from orchestrator.cli.main import main
from orchestrator.clock import SystemClock
from orchestrator.errors import DefinitionError
from orchestrator.family.registry import Registry
from orchestrator.family.secrets import SecretStore
from orchestrator.model.events import Outcome
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from orchestrator.operations.runtime import Tools
from simulator.amps.embedded import amps_layout
from simulator.amps.world import AmpsWorld
from simulator.http.server import Incoming
from simulator.lab.amps.editions import INSTANCES as EDITIONS
from simulator.lab.amps.editions import with_editions
from simulator.lab.amps.server import AmpsLab, AmpsLogin
from tests.amps_admin.test_amps_scenarios import CLOSE_NY, DOWN_LDN, clean, ended, sent, staged
from tests.amps_admin.world_pair import HOME, INSTANCES, WorldPair
from tests.lab.test_amps_admin import ACT, NY, Desk
from tests.seam import told


@contextmanager
def pair_of(folder: Path, *editions: str, queues: bool = True) -> Iterator[WorldPair]:
    """The pair over HTTP, behind these editions, after twenty seconds of traffic."""
    pair = WorldPair(folder, "over HTTP", editions=editions, queues=queues)
    staging = staged(pair)
    yield next(staging)
    next(staging, None)


def read(pair: WorldPair, reading: str) -> Reading | Failure:
    """One reading of New York, by a session that has been there long enough to believe what it reads."""
    adapter = pair.adapter(HOME)
    pair.wait(20)
    return adapter.probe(reading, ["orders"])["orders"]


@pytest.mark.parametrize(
    "edition", ["action-redirects", "word-flags", "nameless-links", "empty-left-out", "other-times", "include"]
)
def test_a_move_over_what_is_only_written_otherwise(tmp_path: Path, edition: str) -> None:
    """Law: another spelling, a page in place of a body, or a field less changes no move: both requests, nothing lost."""
    with pair_of(tmp_path, edition) as pair:
        assert ended(pair.lead("amps/controlled", source=HOME)) == (Outcome.DONE, "")
        assert sent(pair) == [CLOSE_NY, DOWN_LDN]
        assert clean(pair)


@pytest.mark.parametrize(
    ("edition", "why"),
    [
        ("post-only", "HTTP 405"),
        ("typeless-transports", "set client_transports in the options"),
        ("no-queues", "queues is unknown"),
        ("negotiate", "HTTP 401"),
    ],
)
def test_a_move_that_cannot_know_enough_changes_nothing(tmp_path: Path, edition: str, why: str) -> None:
    """Law: a refusal or a missing value refuses the move before anything is done, and the sentence names it."""
    with pair_of(tmp_path, edition) as pair:
        outcome, reason = ended(pair.lead("amps/controlled", source=HOME))
        assert (outcome, why in reason, sent(pair)) == (Outcome.REFUSED, True, []), reason


def test_no_queue_and_no_resource_of_queues(tmp_path: Path) -> None:
    """Law: a 404 is a list without a queue where the instance's configuration has none either."""
    with pair_of(tmp_path, "queues-if-any", queues=False) as pair:
        assert ended(pair.lead("amps/controlled", source=HOME)) == (Outcome.DONE, "")


def test_an_instance_without_the_resource_group(tmp_path: Path) -> None:
    """Law: the guide lists no /amps/instance/group; without it the group is unknown, and all else is read."""
    with pair_of(tmp_path, "no-group") as pair:
        found = told(Instance, read(pair, "instance"))
        assert (found.name, found.group) == (INSTANCES[HOME], None)


def test_a_move_over_late_answers(tmp_path: Path) -> None:
    """Law: an interface that answers late makes a move slow; it does not make it impossible."""
    with pair_of(tmp_path, "late=1.5") as pair:
        assert ended(pair.lead("amps/controlled", source=HOME)) == (Outcome.DONE, "")


def test_a_login_by_kerberos_is_named() -> None:
    """Law: Admin's default is Negotiate; an account that has only a password gets that as the reason."""
    answer = with_editions(Desk().admin, ["negotiate"], lambda seconds: None)(
        Incoming("GET", f"{NY}/name.json", {}, b"")
    )
    headers = {name.lower(): value for name, value in answer.headers.items()}
    error = refusal_of(Reply(answer.status, headers, answer.body, 0.0, 0.0), "orders-ny")
    assert "Negotiate" in f"{error} {error.hint}"


def test_transports_without_a_type_are_not_guessed(tmp_path: Path) -> None:
    """Law: without a type it is unknown whether a transport is for clients."""
    with pair_of(tmp_path, "typeless-transports") as pair:
        found = told(Transports, read(pair, "transports"))
        assert {one.replication for one in found.items} == {None}


CASES: tuple[tuple[str, str, int, str, str], ...] = (
    ("no-group", f"{NY}/group.json", 404, "nothing at", "{"),
    ("no-queues", f"{NY}/queues.json", 404, "nothing at", '"queues"'),
    ("queues-if-any", f"{NY}/queues.json", 200, "jobs-queue", "there are no queues"),
    ("action-redirects", f"{ACT}/transports/1/disable", 302, "", "ok"),
    ("post-only", f"{ACT}/transports/1/disable", 405, "POST", "ok"),
    ("word-flags", f"{NY}/transports.json", 200, '"is_enabled":"true"', '"is_enabled":"1"'),
    ("nameless-links", f"{NY}/replication.json", 200, '"destination_name"', '"name"'),
    ("typeless-transports", f"{NY}/transports.json", 200, '"name"', '"type"'),
    ("empty-left-out", "/amps/instance.json", 200, '"transports"', "[]"),
    ("other-times", f"{NY}/timestamp.json", 200, " 08:00:20.", "T08"),
    ("include", f"{NY}/config.xml", 200, "<Include>", "<Replication>"),
    ("negotiate", f"{NY}/name.json", 401, "required", "orders"),
    ("late=2", f"{NY}/name.json", 200, "orders-ny", "404"),
)


@pytest.mark.parametrize(("edition", "target", "status", "has", "lacks"), CASES)
def test_what_an_edition_answers(edition: str, target: str, status: int, has: str, lacks: str) -> None:
    """Law: each edition changes its own answer and no other; an action that is refused is not done."""
    desk = Desk()
    waited: list[float] = []
    plain, desk.admin = desk.admin, with_editions(desk.admin, [edition], waited.append)  # type: ignore[assignment]
    answer = desk.ask(target)
    text = answer.body.decode()
    assert (answer.status, has in text, lacks in text) == (status, True, False), text
    assert waited == ([2.0] if edition.startswith("late") else [])
    assert bool(desk.log.changes) == (status == 302), "only an action that is let through reaches the instance"
    desk.admin = plain
    assert desk.ask(f"{NY}/pid.json").status == 200


def test_every_edition_has_a_case() -> None:
    """Law: no edition is offered that no test knows."""
    assert {case[0].partition("=")[0] for case in CASES} == {one.name for one in EDITIONS.entries}


def test_a_name_that_is_none() -> None:
    """Law: an unknown edition is refused with the list of those there are."""
    with pytest.raises(DefinitionError, match="there is no such edition") as caught:
        with_editions(Desk().admin, ["no-such"], lambda seconds: None)
    assert all(one.name in caught.value.hint for one in EDITIONS.entries)


@pytest.mark.long
@pytest.mark.realtime
def test_a_move_over_real_ports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Law: on real ports, too, another spelling changes no move: both requests are sent, once each."""
    monkeypatch.setenv("FAILOVER_USER", "ann")
    world = AmpsWorld(amps_layout(queues=False), SystemClock())
    editions = ("word-flags", "empty-left-out", "nameless-links", "late=0.05")
    with AmpsLab(world, directory=tmp_path / "lab", service="orders", login=AmpsLogin(), editions=editions) as lab:
        tools = Tools(tmp_path, SystemClock(), SecretStore(None), Registry())
        tools.clock.sleep(2.5)
        code = main(("controlled", "--service", "orders", "--yes", "-i", str(lab.inventory_path)), tools)
    assert code == 0, capsys.readouterr().err
    commands = [action for _, action, _ in world.tally().commands]
    assert (commands, world.tally().lost) == (["disable", "downgrade"], 0)

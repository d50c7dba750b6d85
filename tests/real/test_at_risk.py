"""A site dies with messages that its mate does not have: they are exactly what the run says that it left."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.real import nats, postgresql, rabbitmq, redis
from tests.real.commands import Operator
from tests.real.places import wait_for
from tests.real.test_redis_link import is_idle_talk, size_of

pytestmark = pytest.mark.realtime


def left_by(pair: Operator, service: str) -> int:
    """How much ny, which is dead, left by the report of the move that gives it up."""
    move = ("--service", service, "--site", "ny", "--yes", "--attest", "power is off")
    code, said = pair.run("uncontrolled", *move)
    assert (code, "this reading is old" in said) == (0, True), said
    code, text = pair.run("runs", "report", "last", "--json")
    assert code == 0, text
    left: dict[str, Any] = json.loads(text.splitlines()[-1])["result"]["lanes"][0]["left_behind"]
    assert (left["site"], left["is_fresh"]) == ("ny", False)
    return int(left["messages"])


def test_redis(tmp_path: Path) -> None:
    """Law: that many bytes are the lost writes, and pings: not what the replica has and has not acknowledged."""
    with redis.a_pair(tmp_path) as pair:
        ny, nj = pair.servers.values()
        with redis.Load(pair) as load:
            load.goes_on(50)
            pair.ways["ny"].cut()
            load.goes_on(50)
        code, text = pair.run("status")
        assert code == 0, text
        ny.stop()
        left = left_by(pair, "cache")
        lost = load.lost_at(nj)
        assert lost
        assert is_idle_talk(left - sum(size_of(number) for number in lost)), (left, len(lost))


@pytest.mark.long
def test_nats() -> None:
    """Law: so many messages are missing at the target."""
    with nats.a_pair() as pair:
        ny, nj = pair.servers.values()
        with nats.Load(pair) as load:
            load.goes_on(50)
            pair.way.cut()
            load.goes_on(50)
        stored = ny.has()
        code, text = pair.run("status")
        assert code == 0, text
        ny.stop()
        assert left_by(pair, "ORDERS") == (stored - nj.has()).total() > 0


@pytest.mark.long
def test_rabbitmq(tmp_path: Path) -> None:
    """Law: so many messages arrive once the site is back: what the shovel has fetched and not confirmed is among them."""
    with rabbitmq.a_pair(tmp_path) as pair:
        ny, nj = pair.nodes.values()
        with rabbitmq.Load(pair) as load:
            load.goes_on(50)
            pair.ways["ny"].cut()
            load.goes_on(50)
        code, text = pair.run("status")
        assert code == 0, text
        ny.stop()
        left = left_by(pair, "orders")
        before, lost = nj.has(), load.lost_at(nj)
        ny.start()
        pair.ways["ny"].heal()
        wait_for(lambda: not load.lost_at(nj))
        assert load.arrived_at(nj, before) == left >= len(lost) > 0


@pytest.mark.long
def test_postgresql() -> None:
    """Law: that many bytes of the log are what only the lost server has, and they hold the lost rows and no other."""
    with postgresql.a_pair() as pair:
        ny, nj = pair.sites.values()
        with postgresql.Load(pair) as load:
            load.goes_on(50)
            pair.ways["ny"].cut()
            load.goes_on(50)
        code, text = pair.run("status")
        assert code in (0, 4), text
        [(replayed,)] = nj.ask("select pg_last_wal_replay_lsn()::text")
        [(only_there,)] = ny.ask(f"select (pg_current_wal_lsn() - '{replayed}')::int")
        words = ["-p", f"{ny.data}/pg_wal", "-s", replayed, "--stats=record"]
        ny.kill()
        left = left_by(pair, "shop")
        lost = load.lost_at(nj)
        assert lost
        assert left == only_there
        found = subprocess.run([pair.programs / "pg_waldump", *words], capture_output=True, text=True, check=False)
        [commits] = re.findall(r"^Transaction/COMMIT +([0-9]+)", found.stdout, re.MULTILINE)
        assert len(lost) <= int(commits) <= len(lost | load.unknown)

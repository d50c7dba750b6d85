"""Keeps a whole journal database as this version writes it, for every later version to open.

``python -m tests.journal.keep_database`` writes ``kept/<version>.sqlite`` with the public half of the key that signed
it, and never over one that is there: what an old version wrote is a fixture for ever. ``kept/<version>.postgresql.sql``
is the same journal on a server, as ``pg_dump --inserts --no-owner --no-privileges`` wrote it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import sqlalchemy as sa

from orchestrator.clock import VirtualClock
from orchestrator.core.run import fold
from orchestrator.engine.dispatch import InlineFleet
from orchestrator.engine.engine import Engine
from orchestrator.family.contract import Adapter
from orchestrator.journal.database.schema import RUNS
from orchestrator.journal.journal import Journal
from orchestrator.journal.lease import create_run
from orchestrator.journal.readiness_results import store_checks
from orchestrator.journal.signing import Signer, generate
from orchestrator.model import events as ev
from orchestrator.model.requests import DecideRequest
from orchestrator.model.runbook import Side
from orchestrator.version import VERSION
from tests.core.builders import a_plan, created
from tests.core.killing import Fuse, Killed, killing
from tests.core.scripted import ScriptedPair
from tests.hooks.hooking import a_hook, plan_with

FOLDER = Path(__file__).parent / "kept"
DONE, KILLED, KEY = "20270115-080000-aaaa", "20270115-080100-bbbb", "change-4711"
# Another machine's, so that nobody can prove that the process is gone.
_HOLDER = "bastion:4711 00000000-0000-0000-0000-000000000000/pid:[4026531836]/12345"


def keep(folder: Path = FOLDER) -> list[Path]:
    """Write what is not there yet; the paths of it."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{VERSION}.sqlite"
    if path.exists():
        return []
    with tempfile.TemporaryDirectory() as secret:
        generate(Path(secret) / "key")
        fill(Journal.at(path, signer=Signer(Path(secret) / "key")))
        public = folder / f"{VERSION}.pub"
        public.write_bytes((Path(secret) / "key.pub").read_bytes())
    return [path, public]


def fill(journal: Journal) -> None:
    """One run that is done, and one that was killed with an intent on disk, and all that goes with them."""
    clock = VirtualClock()
    hooked = plan_with(a_hook())
    _lead(journal, clock, DONE, hooked, key=KEY)
    try:
        _lead(journal, clock, KILLED, a_plan(services=("Orders",)), fuse=Fuse(5))
    except Killed as killed:
        if "before set_role" not in str(killed):
            raise ValueError(f"it was to be killed with an intent on disk: {killed}") from killed
    journal.ask(KILLED, DecideRequest(lane="Orders", gate="no-such-gate", choice="wait", by="bob"))
    store_checks(journal, clock.now(), {"scripted/Orders": (True, ())})
    with journal.engine.begin() as connection:
        connection.execute(sa.update(RUNS).values(holder=_HOLDER))
    journal.close()


def _lead(
    journal: Journal,
    clock: VirtualClock,
    name: str,
    plan: ev.Plan,
    *,
    key: str | None = None,
    fuse: Fuse | None = None,
) -> None:
    pair = ScriptedPair(clock, plan.services, depth=10, rate=100)
    lease, writer = create_run(journal, clock, name, created(plan), key=key)
    adapters: Mapping[Side, Adapter] = pair.adapters()
    if fuse is not None:
        adapters = {side: killing(site, fuse) for side, site in adapters.items()}
    fleet = InlineFleet(adapters, lease, clock)
    Engine(journal, lease, writer, fold(journal.records(name)), fleet, clock, by="ann").run()


if __name__ == "__main__":
    for path in keep():
        print(path)  # noqa: T201 - a command for developers

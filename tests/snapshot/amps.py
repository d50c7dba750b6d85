"""Two simulated AMPS instances, one of which dies with messages that its link had not carried over."""

from __future__ import annotations

import json
from pathlib import Path

from orchestrator.clock import VirtualClock, iso
from simulator.amps.admin.dumps import identity_of
from simulator.amps.embedded import AWAY, HOME, INSTANCES, WORLD_FILE, amps_inventory, amps_layout
from simulator.amps.world import AmpsWorld

# Less than the publishers publish, so the mate falls behind.
_LINK_RATE = 12.0


def async_loss(lab: Path, clock: VirtualClock) -> tuple[AmpsWorld, str]:
    """The pair, kept in the directory ``lab`` as a lab keeps it, 20 s after New York died; and when that was."""
    layout = amps_layout(sync=False).model_copy(update={"link_rate": _LINK_RATE})
    lab.mkdir()
    world = AmpsWorld(layout, clock, path=lab / WORLD_FILE)
    clock.advance(20)
    died_at = iso(clock.now())
    world.kill(INSTANCES[HOME])
    clock.advance(20)
    world.save()
    return world, died_at


def write_inventory(path: Path, lab: Path) -> str:
    """The inventory of that pair. Returns its name."""
    plain = amps_inventory(lab / WORLD_FILE, sync=False).model_dump(mode="json", exclude_defaults=True)
    for site in plain["sites"].values():
        site.pop("name", None)
    path.write_text(json.dumps(plain), encoding="utf-8")
    return str(path)


def logged(world: AmpsWorld, site: str) -> dict[str, str]:
    """By the world's own account: each message in a site's log, and its topic."""
    with world.request():
        entries = list(world.fabric.instances[INSTANCES[site]].journal.all())
    return {identity_of(e.publisher, number): e.topic for e in entries for number in range(e.first, e.stop)}


def only_at(world: AmpsWorld, site: str) -> set[str]:
    """The messages that are in the log of this site, and in that of its mate are not."""
    mate = AWAY if site == HOME else HOME
    return set(logged(world, site)) - set(logged(world, mate))

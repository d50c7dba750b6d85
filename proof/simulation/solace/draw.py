"""Draws simulated runs of Solace message VPNs: the world, the events in it before the run, and the faults."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from orchestrator.model.runbook import Choice
from proof.simulation.scene import Scene
from proof.simulation.solace import draw_beside, draw_repair
from proof.simulation.solace.draw_faults import draw_faults
from proof.simulation.solace.draw_repair import Before
from proof.simulation.solace.draw_world import NODES, draw_layout
from proof.simulation.story import CommandEnd, FenceCommand, Further, Kind, OwnCommand, Part, Story
from simulator.solace.layout import WorldLayout


class SolaceDraw:
    """See ``scene.FamilyDraw``."""

    weights: Mapping[Kind, int] = {
        "controlled": 50,
        "uncontrolled": 10,
        "uncontrolled-isolated": 9,
        "uncontrolled-commanded": 5,
        "restore": 10,
        "restore-commanded": 5,
        "failback": 10,
        "guard": 4,
        "guard-standby": 3,
        "suspend": 4,
        "repair-standby": 0,
        "repair-active": 0,
    }
    choices: Mapping[str, Sequence[Choice]] = {
        "bridge-lost": ("revert", "escalate", "wait"),
        "drain-stalled": ("revert", "escalate", "wait"),
        "sync-stalled": ("stop", "wait"),
        "step-failed": ("revert", "stop", "retry", "waive"),
        "undo-failed": ("stop", "retry"),
        "unfenced": ("attest", "waive", "stop"),
        "leave-behind": ("accept", "revert"),
        "unsafe-return": ("accept", "stop"),
    }
    pressing: Mapping[str, float] = dict.fromkeys(("bridge-lost", "drain-stalled", "unfenced", "leave-behind"), 0.5)
    omitted: Sequence[tuple[str, str]] = (
        ("replication", "role"),
        ("replication", "bridge"),
        ("replication", "queue_bound"),
        ("replication", "remote_bridge_up"),
        ("replication", "sync_eligible"),
        ("replication", "enabled"),
        ("replication_queue", "messages"),
        ("replication_queue", "rejects_on_discard"),
        ("health", "serving"),
        ("health", "spool_active"),
        ("fence", "nodes.clients"),
        ("fence", "nodes.backbone_up"),
        ("external_fence", "closed"),
    )
    # A lag and the latest effect of a command (6s) together are within the wait for it: its timeout (5s), and 2s.
    lags: Sequence[float] = (0.3, 0.9)
    calls: Sequence[str] = (
        *("set_role", "set_role", "set_backbone", "set_external_fence"),
        *("complete_transaction", "delete_transaction"),
    )
    endless: frozenset[Kind] = frozenset({"restore", "restore-commanded"})
    naps: Sequence[float] = (45.0, 90.0, 600.0, 7_200.0)
    clocks: Sequence[float] = (0.0, 1.0, -1.0, 30.0, -30.0, 7_200.0, -3_600.0, -7_200.0)
    slow_readings: Sequence[str] = ("replication", "replication_queue", "transactions", "set_role")
    waits: bool = True

    def episode(self, chance: Random, part: Part) -> tuple[str, ...]:
        """See ``draw_beside``."""
        return draw_beside.episode(chance, part)

    def further(self, chance: Random, story: Story) -> tuple[Further, ...]:
        """See ``draw_beside``."""
        return draw_beside.further(chance, story)

    def apart(self, chance: Random, story: Story) -> dict[str, Any]:
        """See ``draw_beside`` and ``draw_repair``."""
        found = draw_beside.apart(chance, story) or draw_repair.answers(chance, story)
        return found or _accepts_untold_sync(chance, story)

    def own(self, chance: Random, kind: Kind) -> OwnCommand | None:
        """A command that parks something at the source, before it gives up activity."""
        if kind not in _DEMOTING or chance.random() >= _OWN:
            return None
        honest = [end for end in _ENDS if end.effect != "accepted" or end.after is not None]
        ends = chance.choices(honest, k=chance.choice((0, 0, 1, 2)))
        return OwnCommand(before="demote", ends=tuple(ends), has_undo=chance.random() < 0.5)

    def scene(self, chance: Random, kind: Kind) -> Scene:
        """Two sites, one to three message VPNs."""
        source = chance.choice(tuple(NODES))
        target = next(name for name in NODES if name != source)
        layout = draw_layout(chance, kind, source)
        prelude, wait, more = _PRELUDES.get(kind, _calm)(chance, layout, source, target)
        return Scene(
            layout=layout,
            sites=(source, target),
            source=source,
            services=_services(chance, layout),
            prelude=prelude,
            wait=wait,
            faults=draw_repair.possible(draw_faults(chance, layout, source, target, kind), layout, kind),
            xids=tuple(one.xid for vpn in layout.vpns for one in vpn.transactions),
            more={**more, **_command(chance, kind, source)},
        )


_DEMOTING: frozenset[Kind] = frozenset({"controlled", "failback", "uncontrolled-isolated"})
_OWN = 0.1
_ENDS = (
    CommandEnd(effect="rejected", after=None),
    CommandEnd(effect="doubtful", lasts=5.0, after=None),
    CommandEnd(effect="doubtful", lasts=1.0),
    CommandEnd(effect="doubtful", lasts=5.0, after=3.0),
    CommandEnd(effect="doubtful", lasts=5.0, after=25.0),
    CommandEnd(after=None),
    CommandEnd(lasts=4.0, after=2.0),
    CommandEnd(),
)


def _command(chance: Random, kind: Kind, source: str) -> dict[str, Any]:
    """The command of the source's fence plan, if the runbook has one."""
    if not kind.endswith("-commanded"):
        return {}
    ends = chance.choices(_ENDS, k=chance.choice((0, 0, 1, 1, 2, 4)))
    silent = chance.sample(range(1, 12), k=chance.choice((0, 0, 1, 3, 8)))
    closed = chance.random() < (0.8 if kind == "restore-commanded" else 0.05)
    return {"fence": FenceCommand(site=source, ends=tuple(ends), silent=tuple(sorted(silent)), closed=closed)}


def _accepts_untold_sync(chance: Random, story: Story) -> dict[str, Any]:
    """An operator may have accepted in advance that a site does not report sync eligibility."""
    if story.kind not in ("restore", "restore-commanded", "failback") or chance.random() < 0.5:
        return {}
    answers: dict[str, Choice] = {**story.policy.on_gate, "sync-untold": "accept"}
    return {"policy": story.policy.model_copy(update={"on_gate": answers})}


def _services(chance: Random, layout: WorldLayout) -> tuple[str, ...]:
    """Usually all services. Sometimes one of the site's services stays out of the run."""
    names = tuple(vpn.name for vpn in layout.vpns)
    return names[:-1] if len(names) > 1 and chance.random() < 0.3 else names


def _calm(chance: Random, layout: WorldLayout, source: str, target: str) -> Before:
    return (), chance.choice((0.0, 0.5, 3.0)), {}


def _dark(chance: Random, layout: WorldLayout, source: str, target: str) -> Before:
    """The source is lost, permanently or for some time. Or only its management is lost."""
    lasts = chance.choice(("", "", "", " 20s", " 40s", " 2m"))
    if chance.random() < 0.2:
        return (f"at 0s: unreachable {source}{lasts}",), 1.0, {}
    down = [f"at 0s: node {source}/{node} down{lasts}" for node in _nodes(layout, source)]
    return tuple(down[: 1 if chance.random() < 0.05 else None]), chance.choice((0.5, 5.0)), {}


def _cut_off(chance: Random, layout: WorldLayout, source: str, target: str) -> Before:
    if chance.random() < 0.1:
        return (), 1.0, {}
    return (f"at 0s: bridge down{chance.choice(('', '', ' 8s', ' 1m'))}",), chance.choice((0.5, 3.0)), {}


def _returned(chance: Random, layout: WorldLayout, source: str, target: str) -> Before:
    """The source was lost, its mate took over, and the source comes back: perhaps as active too, perhaps only later."""
    away = chance.choice((5, 10, 20))
    faults = [f"at 0s: node {source}/{node} down {away}s" for node in _nodes(layout, source)]
    faults.append(f"at 2s: role {target} active")
    if chance.random() < 0.4:
        faults.append(f"at {away + 4}s: role {source} standby")
    wait = away + chance.choice((-2.0, 3.0, 8.0, 15.0))
    return tuple(faults), wait, {"outage_ago": wait - 2.0, "suspended": chance.choice((False, False, None, True))}


def _failed_over(chance: Random, layout: WorldLayout, source: str, target: str) -> Before:
    """The source has been active for some time, and its mate is standby again."""
    faults = [f"at 0s: node {target}/{node} down 4s" for node in _nodes(layout, target)]
    faults += [f"at 1s: role {source} active", f"at 6s: role {target} standby"]
    wait = chance.choice((9.0, 14.0, 30.0))
    known = {
        "outage_ago": wait - 1.0 if chance.random() < 0.85 else None,
        "suspended": chance.choice((False, False, False, False, None, True)),
        "spool_lost": chance.random() < 0.05,
    }
    return tuple(faults), wait, known


def _acting(chance: Random, layout: WorldLayout, source: str, target: str) -> Before:
    down = [f"at 0s: node {source}/{node} down" for node in _nodes(layout, source)]
    return (*down, f"at 1s: role {target} active"), 3.0, {}


_PRELUDES: Mapping[Kind, Callable[[Random, WorldLayout, str, str], Before]] = {
    "uncontrolled": _dark,
    "uncontrolled-commanded": _dark,
    "uncontrolled-isolated": _cut_off,
    "restore": _returned,
    "restore-commanded": _returned,
    "guard": _returned,
    "guard-standby": _returned,
    "failback": _failed_over,
    "suspend": _acting,
    "repair-standby": draw_repair.both_standby,
    "repair-active": draw_repair.both_active,
}


def _nodes(layout: WorldLayout, site: str) -> tuple[str, ...]:
    return next(one.nodes for one in layout.sites if one.name == site)

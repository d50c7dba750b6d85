"""Draws simulated runs of AMPS instances: the fabric, the events in it before the run, and the faults."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from orchestrator.model.runbook import Choice
from proof.simulation.amps.draw_faults import draw_faults
from proof.simulation.amps.draw_world import SITES, draw_fabric, instance_of
from proof.simulation.scene import Scene
from proof.simulation.story import Further, Kind, OwnCommand, Part, Story
from simulator.amps.layout import FabricLayout

Before = tuple[tuple[str, ...], float]  # faults, and the seconds before the run starts


class AmpsDraw:
    """See ``scene.FamilyDraw``."""

    weights: Mapping[Kind, int] = {
        "amps/controlled": 10,
        "amps/controlled-async": 6,
        "amps/uncontrolled": 4,
        "amps/uncontrolled-async": 4,
        "amps/restore": 5,
        "amps/restore-bootstrap": 2,
        "amps/failback": 2,
        "amps/failback-async": 2,
        "amps/proxied-transfer": 1,
        "amps/guard": 1,
    }
    choices: Mapping[str, Sequence[Choice]] = {
        "reopened": ("wait", "revert"),
        "clients-stay": ("wait", "revert"),
        "link-lost": ("wait", "revert", "escalate"),
        "queues-cut-off": ("wait", "revert"),
        "queues-stay": ("wait", "revert", "stop"),
        "sync-stalled": ("wait", "stop"),
        "bootstrap": ("attest", "attest", "stop"),
        "stale-tail": ("accept", "accept", "stop"),
        "data-loss": ("accept", "accept", "accept", "stop"),
        "unfenced": ("attest", "attest", "waive", "stop"),
        "proxied-transfer": ("accept", "accept", "stop"),
        "step-failed": ("revert", "stop", "retry", "waive"),
        "undo-failed": ("stop", "retry"),
    }
    pressing: Mapping[str, float] = {
        "link-lost": 0.5,
        **dict.fromkeys(("bootstrap", "stale-tail", "data-loss", "unfenced", "proxied-transfer"), 0.85),
    }
    omitted: Sequence[tuple[str, str]] = (
        ("instance", "recovered"),
        ("clients", "count"),
        ("links", "mate"),
        ("links", "interval_s"),
        ("queues", "items"),
        ("bootstrap", "configured"),
        ("bootstrap", "empty"),
        ("sow", "items"),
        ("permissions", "known"),
    )
    # A lag, the latest effect of a request (20s) and a sample (2s) together are within the 30s of `settle`.
    lags: Sequence[float] = (1.0, 4.0)
    calls: Sequence[str] = (
        "set_client_transports",
        "set_client_transports",
        "set_link_mode",
        "set_proxied_transfer",
    )
    endless: frozenset[Kind] = frozenset({"amps/restore", "amps/restore-bootstrap"})
    naps: Sequence[float] = (45.0, 70.0)
    clocks: Sequence[float] = (0.0, 1.0, -1.0, 30.0, -30.0, 7_200.0, -3_600.0)
    slow_readings: Sequence[str] = ("links", "transports", "set_client_transports")
    waits: bool = False

    def episode(self, chance: Random, part: Part) -> tuple[str, ...]:
        """A person opens a side by hand, its link fails, and a person closes it again. Or only a part of that happens."""
        mate = next(site for site in SITES if site != part.source)
        one, two = instance_of(part.services[0], part.source), instance_of(part.services[0], mate)
        steps = chance.choice(
            (
                (f"somebody enables {one}", f"link {one} {two} down 12s", f"somebody disables {one}"),
                (f"somebody enables {one}", f"somebody disables {one}"),
                (f"somebody enables {two}", f"somebody disables {two}"),
                (f"link {one} {two} down 6s",),
                (f"kill {one} 8s",),
                (f"silent {two} 6s",),
            )
        )
        return tuple(f"at {number * 2}s: {what}" for number, what in enumerate(steps))

    def further(self, chance: Random, story: Story) -> tuple[Further, ...]:
        """The other service of the sites is moved too, or the source is brought back."""
        every = tuple(dict.fromkeys(one.group_name for one in getattr(story.layout, "instances", ())))
        left = tuple(name for name in every if name not in story.services)
        if chance.random() >= (0.5 if left else 0.1):
            return ()
        if left:
            return (Further(kind=story.kind, source=story.source, services=left, policy=story.policy, beside=True),)
        if story.kind != "amps/controlled":
            return ()
        return (Further(kind="amps/restore", source=story.source, services=story.services, policy=story.policy),)

    def apart(self, chance: Random, story: Story) -> dict[str, Any]:
        """Services of AMPS have separate instances."""
        return {}

    def own(self, chance: Random, kind: Kind) -> OwnCommand | None:
        """None, because the operator's own command is the same for every family."""
        return None

    def scene(self, chance: Random, kind: Kind) -> Scene:
        """Two sites, one or two services."""
        source = chance.choice(SITES)
        target = next(site for site in SITES if site != source)
        layout = draw_fabric(chance, kind, source)
        prelude, wait = _PRELUDES.get(kind, _calm)(chance, layout, source, target)
        services = tuple(dict.fromkeys(one.group_name for one in layout.instances))
        return Scene(
            layout=layout,
            sites=(source, target),
            source=source,
            services=services[:1] if chance.random() < 0.3 else services,
            prelude=prelude,
            wait=wait,
            faults=draw_faults(chance, layout, kind),
        )


def _at(layout: FabricLayout, site: str) -> list[str]:
    return [one.name for one in layout.instances if one.site_name == site]


def _calm(chance: Random, layout: FabricLayout, source: str, target: str) -> Before:
    """Clients have published for a while."""
    return (), chance.choice((0.5, 3.0, 6.0, 12.0))


def _dark(chance: Random, layout: FabricLayout, source: str, target: str) -> Before:
    """The source is lost, permanently or for some time. Or only its link, or only its administration is lost."""
    at = chance.choice((1, 3, 6))
    lasts = chance.choice(("", "", "", " 20s", " 40s"))
    lost = chance.choices(("kill", "silent", "link"), (78, 10, 12))[0]
    pairs = list(zip(_at(layout, source), _at(layout, target), strict=True))
    faults = [] if lost == "link" else [f"at {at}s: {lost} {name}{lasts}" for name, _ in pairs]
    if lost == "link" or (lost == "silent" and chance.random() < 0.7):
        faults += [f"at {at}s: link {one} {other} down{lasts}" for one, other in pairs]
    if chance.random() < 0.1:
        faults += [f"at {at - 1}s: somebody downgrades {name}" for name in _at(layout, source)]
    return tuple(faults), at + chance.choice((0.5, 3.0, 8.0))


def _returns(chance: Random, layout: FabricLayout, source: str, target: str) -> Before:
    """The source was lost, its mate serves without it, and a person starts it: before the run, or during it."""
    back = chance.choice((6, 9, 15))
    return _after_loss(chance, layout, source, target, back), chance.choice((5.0, 8.0, 12.0, 20.0))


def _returns_empty(chance: Random, layout: FabricLayout, source: str, target: str) -> Before:
    """Like ``_returns``, but the source's files are usually lost, too."""
    back = chance.choice((6, 9, 15))
    faults = _after_loss(chance, layout, source, target, back)
    if chance.random() < 0.9:
        faults += tuple(f"at 4s: lose {name} all" for name in _at(layout, source))
    return faults, chance.choice((5.0, 8.0, 12.0))


def _after_loss(chance: Random, layout: FabricLayout, source: str, target: str, back: int) -> tuple[str, ...]:
    faults = [f"at 0s: somebody enables {name}" for name in _at(layout, source)]
    faults += [f"at 2s: kill {name}" for name in _at(layout, source)]
    if chance.random() < 0.85:
        faults += [f"at 3s: somebody downgrades {name}" for name in _at(layout, target)]
    if chance.random() < 0.2:
        faults += [f"at 3s: somebody proxies {name}" for name in _at(layout, target)]
    if chance.random() < 0.9:
        faults += [f"at {back}s: start {name}" for name in _at(layout, source)]
    return tuple(faults)


def _came_back(chance: Random, layout: FabricLayout, source: str, target: str) -> Before:
    """The target was away for a while."""
    away = chance.choice((2, 5))
    faults = [f"at 1s: kill {name} {away}s" for name in _at(layout, target)]
    return tuple(faults), away + chance.choice((0.5, 4.0, 8.0))


_PRELUDES: Mapping[Kind, Callable[[Random, FabricLayout, str, str], Before]] = {
    "amps/uncontrolled": _dark,
    "amps/uncontrolled-async": _dark,
    "amps/proxied-transfer": _dark,
    "amps/restore": _returns,
    "amps/restore-bootstrap": _returns_empty,
    "amps/guard": _returns,
    "amps/failback": _came_back,
    "amps/failback-async": _came_back,
}

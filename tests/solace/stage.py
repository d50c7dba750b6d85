"""A site of scripted Solace nodes, and the adapter that speaks to it: everything on virtual time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from adapters.solace.adapter import SolaceCliAdapter
from orchestrator.clock import VirtualClock
from orchestrator.contract import Call, Permit, Result, Setting
from orchestrator.errors import Forbidden
from orchestrator.site import Device, Login, Site
from tests.solace import layouts
from tests.ssh.scripted import ScriptedDevice


class NoSecrets:
    """A scripted device wants no password."""

    def reveal(self, reference: object, *, what: str) -> str:
        raise AssertionError("nothing asks for a secret here")


@dataclass
class Permits:
    """Allows the first ``allowed`` changes. ``heard_at`` is what the device had heard at each check."""

    device: ScriptedDevice | None = None
    allowed: int = 1_000_000
    checks: int = 0
    heard_at: list[list[str]] = field(default_factory=list)

    def check(self) -> None:
        if self.device is not None:
            self.heard_at.append(list(self.device.heard))
        self.checks += 1
        if self.checks > self.allowed:
            raise Forbidden("the lease is no longer ours")


def node(name: str = "ny1", clock: VirtualClock | None = None, **kwargs: object) -> ScriptedDevice:
    """A node that serves, with two replicated message VPNs; ``answers`` are added to what it can show."""
    answers = {
        "show redundancy": layouts.redundancy(),
        "show message-vpn * replication": layouts.replication({"a": layouts.ACTIVE, "b": layouts.STANDBY}),
        "show message-vpn a replication": layouts.replication({"a": layouts.ACTIVE}),
        "show transaction": layouts.transactions([]),
    }
    answers.update(kwargs.pop("answers", {}))  # type: ignore[arg-type, call-overload]
    device = ScriptedDevice(clock or VirtualClock(), name=f"{name}router", answers=answers)
    for key, value in kwargs.items():
        setattr(device, key, value)
    return device


def adapter_of(*nodes: ScriptedDevice, read_only: bool = False, **options: object) -> SolaceCliAdapter:
    """The adapter of a site whose devices are called ny1, ny2, …"""
    devices = tuple(Device(name=f"ny{number}") for number in range(1, len(nodes) + 1))
    site = Site(name="ny", adapter="solace-cli", devices=devices, login=Login(username="admin"), options=options)
    by_name = {device.name: one for device, one in zip(devices, nodes, strict=True)}
    setting = Setting(clock=nodes[0].clock, secrets=NoSecrets(), read_only=read_only)
    return SolaceCliAdapter(site, setting, dial=lambda device: by_name[device.name].connect, random=Random(1))


def apply(adapter: SolaceCliAdapter, action: str, *calls: Call, permit: Permit | None = None) -> Sequence[Result]:
    """All results of one ``apply``."""
    return list(adapter.apply(action, calls, permit or Permits()))

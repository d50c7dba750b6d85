"""A site of scripted Solace nodes, and the adapter that speaks to it: everything on virtual time."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from adapters.solace.adapter import SolaceCliAdapter
from orchestrator.clock import VirtualClock
from orchestrator.family.contract import AdapterContext
from orchestrator.model.inventory import Device, Login, Site
from tests.seam import Secretless
from tests.solace import layouts
from tests.ssh.scripted import ScriptedDevice, Shown


def node(
    name: str = "ny1", clock: VirtualClock | None = None, *, answers: Mapping[str, Shown] | None = None, **more: Any
) -> ScriptedDevice:
    """A node that serves, with two replicated message VPNs; ``answers`` are added to what it can show, ``more`` are
    attributes of the device."""
    shown: dict[str, Shown] = {
        "show redundancy": layouts.redundancy(),
        "show message-vpn * replication": layouts.replication({"a": layouts.ACTIVE, "b": layouts.STANDBY}),
        "show message-vpn a replication": layouts.replication({"a": layouts.ACTIVE}),
        "show transaction": layouts.transactions([]),
    }
    return ScriptedDevice(clock or VirtualClock(), name=f"{name}router", answers={**shown, **(answers or {})}, **more)


def adapter_of(*nodes: ScriptedDevice, read_only: bool = False, **options: object) -> SolaceCliAdapter:
    """The adapter of a site whose devices are called ny1, ny2, …"""
    devices = tuple(Device(name=f"ny{number}") for number in range(1, len(nodes) + 1))
    site = Site(name="ny", adapter="solace-cli", devices=devices, login=Login(username="admin"), options=options)
    by_name = {device.name: one for device, one in zip(devices, nodes, strict=True)}
    context = AdapterContext(clock=nodes[0].clock, secrets=Secretless(), read_only=read_only)
    return SolaceCliAdapter(site, context, dial=lambda device: by_name[device.name].connect, random=Random(1))

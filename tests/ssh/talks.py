"""Sessions with a scripted device: one that only shows, and one that may change."""

from __future__ import annotations

from typing import Any

from adapters.solace.dialect import SOLACE
from adapters.ssh.session import ShellSession, ShowSession
from orchestrator.clock import VirtualClock
from orchestrator.model.inventory import Device
from tests.ssh.scripted import ScriptedDevice

TABLE = "Name    A\n------- -\nalpha   U\nbeta    D\n"
CHANGE = "replication state standby"


def device_of(**more: Any) -> ScriptedDevice:
    return ScriptedDevice(VirtualClock(), **{"answers": {"show table": TABLE, "show other": "other\n"}, **more})


def shows(device: ScriptedDevice, router_name: str | None = None) -> ShowSession:
    return ShowSession(
        Device(name="ny1", router_name=router_name),
        device.connect,
        dialect=SOLACE,
        clock=device.clock,
        timeout_s=15.0,
    )


def shell(device: ScriptedDevice) -> ShellSession:
    return ShellSession(Device(name="ny1"), device.connect, dialect=SOLACE, clock=device.clock, timeout_s=15.0)


def enter_vpn(session: ShellSession) -> None:
    session.to_top()
    session.send("configure", at="", to="configure")
    session.send("message-vpn Trading_VPN", at="configure", to="configure/message-vpn")

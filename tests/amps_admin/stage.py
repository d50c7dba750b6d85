"""A site of scripted AMPS instances and the adapter that speaks to them, on virtual time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from adapters.amps.adapter import AmpsAdminAdapter
from orchestrator.clock import VirtualClock
from orchestrator.family.contract import AdapterContext, Call, Result
from orchestrator.model.inventory import Device, Login, SecretRef, Site
from orchestrator.model.outcome import Effect, Failure
from orchestrator.model.reading import Reading
from tests.amps_admin.instance import ScriptedInstance
from tests.seam import Permits
from tests.semp.wire import Wire

PASSWORD = "s3cret-pass"
SETTLED_S = 20.0
LOGIN = Login(username="failover", password=SecretRef(env="AMPS"))


class Secrets:
    """Hands out the one password."""

    def reveal(self, reference: object, *, what: str) -> str:
        return PASSWORD


@dataclass
class Stage:
    """A site. ``instances``: by device name. ``options`` go into the inventory, and ``login``."""

    clock: VirtualClock = field(default_factory=lambda: VirtualClock(1_735_689_610.0))
    names: Sequence[str] = ("amps-1",)
    options: Mapping[str, Any] = field(default_factory=dict)
    login: Login | None = LOGIN

    def __post_init__(self) -> None:
        self.instances = {name: ScriptedInstance(self.clock, name) for name in self.names}
        self.wires = {name: Wire(one.handle, self.clock) for name, one in self.instances.items()}

    @property
    def one(self) -> ScriptedInstance:
        """The only instance."""
        return self.instances[self.names[0]]

    @property
    def wire(self) -> Wire:
        """Its wire."""
        return self.wires[self.names[0]]

    def site(self) -> Site:
        """As an inventory has it."""
        return Site(
            name="ny",
            adapter="amps-admin",
            devices=tuple(Device(name=name, address=f"{name}.example.com", port=8085) for name in self.names),
            login=self.login,
            options={"scheme": "http", "insecure_http": True, **self.options},
        )

    def adapter(self, *, read_only: bool = False) -> AmpsAdminAdapter:
        """A new one. Nothing of a session that acts is believed at first: see ``settled``."""
        setting = AdapterContext(self.clock, Secrets(), read_only=read_only)
        return AmpsAdminAdapter(self.site(), setting, wire=lambda device: self.wires[device.name], random=Random(7))

    def settled(self) -> AmpsAdminAdapter:
        """A session that acts, after it has begun to believe what it reads."""
        adapter = self.adapter()
        self.clock.advance(SETTLED_S)
        return adapter

    def read(self, reading: str, service: str = "orders") -> Reading | Failure:
        """One reading through a session of its own that only looks."""
        return self.adapter(read_only=True).probe(reading, [service])[service]


def apply(adapter: AmpsAdminAdapter, action: str, permits: Permits | None = None, **args: str) -> Result:
    """One call for the service ``orders``."""
    [result] = adapter.apply(action, [Call("orders", args)], permits or Permits())
    return result


ACCEPTED, REJECTED, NOT_SENT, DOUBTFUL = Effect.ACCEPTED, Effect.REJECTED, Effect.NOT_SENT, Effect.DOUBTFUL

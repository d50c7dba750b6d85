"""A separate family for ``pairctl``: one shell over SSH for each site, with the product's own sessions.

It is installed into a folder of the benchmark, like a distribution of a third party.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import ClassVar, Literal

from adapters.ssh.connect import SshConnector
from adapters.ssh.session import ShellSession, ShowSession
from adapters.ssh.terminal import Dialect
from orchestrator.errors import AdapterError, Forbidden, UnreadableReply
from orchestrator.family.contract import ActionSpec, AdapterContext, ArgumentSpec, Call, Permit, ReadingSpec, Result
from orchestrator.family.retry import Retry
from orchestrator.model.facets import Facet
from orchestrator.model.families import Family, Words
from orchestrator.model.inventory import Site
from orchestrator.model.outcome import Effect, Failure
from orchestrator.model.reading import Reading

NOTHING = re.compile(r"(?!)")
DIALECT = Dialect(
    prompt=re.compile(r"(?P<name>\w+)(?P<mode>)(?P<sign>#) "),
    pager=NOTHING,
    question=NOTHING,
    reading="pairctl show ",
)


class Role(Reading):
    """``role``: who serves, as ``pairctl`` says."""

    facets: ClassVar[Mapping[Facet, str]] = {Facet.SERVES: "active"}
    kind: Literal["pairctl-role"] = "pairctl-role"
    active: bool | None = None


PAIRCTL = Family(
    name="pairctl",
    words=Words("service", "services", "message"),
    readings={"role": Role},
    runbooks=Path(__file__).parent / "runbooks",
    makes={("set_role", "role"): {"active": {Facet.SERVES: True}, "standby": {Facet.SERVES: False}}},
)


def _shows(services: Sequence[str]) -> list[str]:
    return [f"pairctl show {service}" for service in services]


def _sets(call: Call) -> list[str]:
    return [f"pairctl set {call.service} {call.args['role']}"]


class PairctlAdapter:
    """One site, with one shell that stays open."""

    family: ClassVar[str] = "pairctl"
    simulated: ClassVar[bool] = False
    speaks_ssh: ClassVar[bool] = True
    readings: ClassVar[Mapping[str, ReadingSpec]] = {"role": ReadingSpec("role", "who serves", _shows, model=Role)}
    actions: ClassVar[Mapping[str, ActionSpec]] = {
        "set_role": ActionSpec(
            "set_role",
            "give a role",
            idempotent=True,
            commands=_sets,
            arguments={"role": ArgumentSpec(choices=("active", "standby"))},
            inverse="set_role",
        )
    }

    def __init__(self, site: Site, context: AdapterContext) -> None:
        device = site.devices[0]
        connector = SshConnector(device, site, secrets=context.secrets, clock=context.clock)
        connecting = Retry(context.clock, Random())
        kind = ShowSession if context.read_only else ShellSession
        self._session = kind(
            device,
            lambda: connecting.connect(connector, within_s=site.connect_timeout),
            dialect=DIALECT,
            clock=context.clock,
            timeout_s=site.command_timeout,
        )

    def open(self) -> None:
        """Log in."""
        self._session.open()

    def close(self) -> None:
        """Log out."""
        self._session.close()

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        """See ``orchestrator.family.contract.Adapter``. Sends one command for each service, like the other contenders."""
        return {service: self._probe(line) for service, line in zip(services, _shows(services), strict=True)}

    def _probe(self, line: str) -> Reading | Failure:
        try:
            said = self._session.show(line)
            if said not in ("role active", "role standby"):
                raise UnreadableReply(f"`{line}` says something else", text=said, device=self._session.device.name)
        except AdapterError as error:
            return Failure.of(error)
        return Role(active=said == "role active")

    def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        """See ``orchestrator.family.contract.Adapter``."""
        session = self._session
        if not isinstance(session, ShellSession):
            raise Forbidden(f"{action} was not sent: this session is read-only", device=session.device.name)
        for call in calls:
            [line] = _sets(call)
            session.to_top()
            permit.check()
            try:
                said = session.send(line, at="", to="")
            except AdapterError as error:
                yield Result.of(call, error, [line])
                continue
            effect = Effect.ACCEPTED if said == "done" else Effect.DOUBTFUL
            yield Result(call, effect, said, session.device.name, (line,))

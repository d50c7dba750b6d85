"""The inventory: sites, their devices, the pairs between which services move, and the hooks that get a run's events.

A site also has its fence plan: how to keep clients off the site once it has failed, written down in advance
(docs/sources/solace-procedure.md, uncontrolled 2).

The inventory contains no secrets, only references to them (environment variable, file, command, prompt). An inline
password is accepted with a warning, for a simple first try. It is a ``SecretStr``, which prints as stars.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    StringConstraints,
    field_validator,
    model_validator,
)

from orchestrator.model.fences import known_fences
from orchestrator.model.runbook import Duration

# A name becomes part of a device command, so control characters, quotes, ';' and the like are refused.
SERVICE_NAME = r"^[^\s\"'`;?*<>&|\\\x00-\x1f\x7f][^\"'`;?*<>&|\\\x00-\x1f\x7f]{0,31}$"

ServiceName = Annotated[str, StringConstraints(pattern=SERVICE_NAME)]
SiteName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$")]

# More than an hour is too long to wait for one answer, and a socket accepts at most 24 days.
Patience = Annotated[float, Field(gt=0, le=3600)]

# Plain http only to this machine. No account or password, since the URL is recorded with each run.
WEBHOOK_URL = (
    r"^(?:https://(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])"
    r"|http://(?:localhost|127(?:\.[0-9]{1,3}){3}|\[::1\]))"
    r"(?::[0-9]{1,5})?(?:[/?][\x21\x22\x24-\x7e]*)?$"
)
# The events that a hook may get: the kinds of orchestrator/model/events.py, ``gate.asked`` for gate.opened, and ``*``
# for all.
HookEvent = Literal[
    "*",
    "run.created",
    "run.started",
    "run.paused",
    "run.finished",
    "policy.changed",
    "observer.failed",
    "lane.started",
    "lane.resumed",
    "lane.escalated",
    "lane.ended",
    "abort.asked",
    "abort.declined",
    "step.started",
    "step.ready",
    "step.applies",
    "step.skipped",
    "step.waived",
    "step.done",
    "step.failed",
    "step.retried",
    "goal.reached",
    "goal.lost",
    "observed",
    "readings.expired",
    "step.waiting",
    "site.claimed",
    "action.intended",
    "action.ended",
    "doubt.resolved",
    "point-of-no-return",
    "guard.broke",
    "guard.healed",
    "drain.stalled",
    "gate.asked",
    "gate.opened",
    "gate.decided",
    "gate.withdrawn",
    "revert.started",
    "undo.done",
    "approval.given",
    "approval.refused",
]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _SecretSource(_Strict):
    """The place of a secret: exactly one of these. ``command``: an argument list that prints the secret, without a
    shell."""

    env: str | None = None
    file: str | None = None
    command: Annotated[tuple[Annotated[str, StringConstraints(min_length=1)], ...], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        names = type(self).model_fields
        if sum(getattr(self, name) is not None for name in names) != 1:
            raise ValueError(f"give exactly one of {', '.join(names)}")
        return self


class SecretRef(_SecretSource):
    """The place of a secret: exactly one of these. ``command``: an argument list that prints the secret, without a
    shell."""

    prompt: Literal[True] | None = None
    inline: SecretStr | None = None


class Login(_Strict):
    """How to log in. With ``key_file``, the password, if given, is the passphrase of the key."""

    username: str
    password: SecretRef | None = None
    key_file: str | None = None


class Device(_Strict):
    """One node of a site. ``host_key`` pins ``<type> <base64>``. Without it, known_hosts decides."""

    name: str
    address: str = ""
    port: int = Field(default=22, ge=1, le=65535)
    host_key: str | None = None
    router_name: str | None = None


class Also(_Strict):
    """One more adapter of the same site. Missing keys have the values of the site, except ``options``."""

    adapter: str
    devices: tuple[Device, ...] | None = Field(default=None, min_length=1)
    login: Login | None = None
    known_hosts: str | None = None
    command_timeout: Patience | None = None
    connect_timeout: Patience | None = None
    options: Mapping[str, Any] = Field(default_factory=dict, description="options that only this adapter understands")

    @field_validator("devices")
    @classmethod
    def _distinct(cls, devices: tuple[Device, ...] | None) -> tuple[Device, ...] | None:
        return devices and _distinct_names(devices)


class FenceOption(BaseModel):
    """One way to keep clients off a failed site: ``command``, ``attest``, or a way of the family.

    ``command``: a command of the site's adapter ``local``, proven by its own check. ``attest``: the task that a person
    has to do, and then attests. Lint checks the other ways and their values (``orchestrator.model.fences``), not this
    model: a record of a family that is not installed must still be readable.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    command: SiteName | None = None
    attest: str | None = Field(default=None, min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _given(cls, data: Any) -> Any:
        """Remove absent kinds: records of earlier versions have every kind, and absent kinds as null."""
        return {name: one for name, one in data.items() if one is not None} if isinstance(data, Mapping) else data

    @model_validator(mode="after")
    def _exactly_one(self) -> FenceOption:
        if len(self._ways) != 1:
            raise ValueError(f"give exactly one of {', '.join((*sorted(known_fences()), 'command', 'attest'))}")
        return self

    @property
    def _ways(self) -> Mapping[str, Any]:
        common = {name: one for name, one in (("command", self.command), ("attest", self.attest)) if one is not None}
        return {**(self.model_extra or {}), **common}

    @property
    def kind(self) -> str:
        """``command``, ``attest``, or the key of a way of the family."""
        return next(iter(self._ways))

    @property
    def value(self) -> Any:
        """The value of the way: a text, or ``True``."""
        return self._ways[self.kind]

    @property
    def is_of_family(self) -> bool:
        """Is it a way of the family, so neither ``command`` nor ``attest``?"""
        return self.kind not in FenceOption.model_fields


class Site(_Strict):
    """One site of a pair. Two ``devices`` are an HA pair: the serving device is determined again for each step.

    ``also``: further adapters of the same site. Each reading and action goes to the first adapter that offers it.
    ``fence``: the fence plan of the site, the preferred way first.
    """

    name: SiteName = ""
    title: str = ""
    adapter: str
    devices: tuple[Device, ...] = Field(min_length=1)
    login: Login | None = None
    known_hosts: str | None = None
    simulated: bool = Field(default=False, description="the site is simulated, and every output says so")
    command_timeout: Patience = Field(default=15.0, description="seconds for the complete answer to one command")
    connect_timeout: Patience = Field(default=10.0, description="seconds for one connection attempt")
    options: Mapping[str, Any] = Field(default_factory=dict, description="options that only this adapter understands")
    also: tuple[Also, ...] = ()
    fence: tuple[FenceOption, ...] = ()

    @field_validator("devices")
    @classmethod
    def _distinct(cls, devices: tuple[Device, ...]) -> tuple[Device, ...]:
        return _distinct_names(devices)

    @field_validator("fence")
    @classmethod
    def _each_kind_once(cls, fence: tuple[FenceOption, ...]) -> tuple[FenceOption, ...]:
        if len({option.kind for option in fence}) != len(fence):
            raise ValueError("a fence plan can have each kind only once; one command may try several ways")
        return fence

    @model_validator(mode="after")
    def _distinct_adapters(self) -> Site:
        names = [self.adapter, *(one.adapter for one in self.also)]
        if len(set(names)) != len(names):
            raise ValueError("a site cannot have the same adapter twice")
        return self

    @property
    def parts(self) -> tuple[Site, ...]:
        """The site for each of its adapters, in the order in which the adapters are asked."""
        own = self.model_copy(update={"also": ()})
        return (own, *(_part(own, one) for one in self.also))

    @property
    def own_fence(self) -> FenceOption | None:
        """The first way of the family in the fence plan, or None."""
        return next((option for option in self.fence if option.is_of_family), None)

    def fenced_by(self, kind: str) -> FenceOption | None:
        """The option of this kind in the fence plan, or None."""
        return next((option for option in self.fence if option.kind == kind), None)


def _distinct_names(devices: tuple[Device, ...]) -> tuple[Device, ...]:
    names = [device.name for device in devices]
    if len(set(names)) != len(names):
        raise ValueError("two devices of one site have the same name")
    return devices


def _part(own: Site, also: Also) -> Site:
    given = {name: value for name in Also.model_fields if (value := getattr(also, name)) is not None}
    return own.model_copy(update=given)


ApprovedCommand = Literal["controlled", "uncontrolled", "restore", "failback", "repair"]
_ALL_COMMANDS: tuple[ApprovedCommand, ...] = ("controlled", "uncontrolled", "restore", "failback", "repair")


class ApprovalPolicy(_Strict):
    """The approval that runs of these commands need: ``needed`` other people must approve before a run starts."""

    needed: int = Field(ge=1, le=10)
    within: Duration = 3600.0
    commands: tuple[ApprovedCommand, ...] = Field(default=_ALL_COMMANDS, min_length=1)
    break_glass: bool = Field(default=True, description="one person may start without approval, with a reason")

    @field_validator("within")
    @classmethod
    def _some_time(cls, within: float) -> float:
        if within <= 0:
            raise ValueError("`within` must be longer than 0 seconds, because an approval takes time")
        return within


class Pair(_Strict):
    """Two sites that replicate to each other. The first is the home site: a planned move starts from it.

    ``services``: the services that ``--all`` moves. A name that is not listed is refused, so that a typing error cannot
    move another service. ``transaction_wait``: how long transaction managers may handle transactions that were completed
    heuristically, before these are deleted (docs/sources/solace-procedure.md, controlled 6). None: the ``delay`` of the
    runbook.
    """

    name: SiteName
    sites: tuple[SiteName, SiteName]
    services: tuple[ServiceName, ...] = Field(min_length=1)
    approval: ApprovalPolicy | None = None
    transaction_wait: Duration | None = None

    @field_validator("sites")
    @classmethod
    def _two_sites(cls, sites: tuple[str, str]) -> tuple[str, str]:
        if sites[0] == sites[1]:
            raise ValueError(f"a pair needs two different sites, but has {sites[0]} twice")
        return sites

    def mate_of(self, site: str) -> str:
        """The other site of the pair."""
        return self.sites[1] if site == self.sites[0] else self.sites[0]


class HookSecret(_SecretSource):
    """The place of a webhook's secret: ``env``, ``file`` or ``command``. ``prompt`` and ``inline`` are not offered: a
    person cannot be asked for the secret while a run continues, and the secret is never recorded."""

    @property
    def reference(self) -> SecretRef:
        """The same place as a ``SecretRef``."""
        return SecretRef(env=self.env, file=self.file, command=self.command)


class Webhook(_Strict):
    """The URL that events are posted to. ``ca_file``: PEM file of the only trusted CA. Without it, the CAs of the
    system."""

    url: Annotated[str, StringConstraints(pattern=WEBHOOK_URL)]
    secret: HookSecret
    ca_file: str | None = None


class Hook(_Strict):
    """A receiver of events: a ``command`` (an argument list, never a line for a shell) or a ``webhook``. ``on``: the
    kinds of events."""

    name: SiteName
    on: tuple[HookEvent, ...] = Field(min_length=1)
    command: tuple[str, ...] | None = Field(default=None, min_length=1)
    webhook: Webhook | None = None
    timeout: Duration = 10.0

    @field_validator("timeout")
    @classmethod
    def _some_time(cls, timeout: float) -> float:
        if timeout <= 0:
            raise ValueError("the timeout must be longer than 0 seconds")
        return timeout

    @model_validator(mode="after")
    def _exactly_one(self) -> Hook:
        if (self.command is None) == (self.webhook is None):
            raise ValueError("give exactly one of command, webhook")
        return self


class Inventory(_Strict):
    """All sites, the pairs with the services that can be moved, and the hooks."""

    sites: Mapping[SiteName, Site]
    pairs: tuple[Pair, ...] = Field(min_length=1)
    hooks: tuple[Hook, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Inventory:
        for name, given in self.sites.items():
            if given.name not in ("", name):
                raise ValueError(f"site {name} has `name` {given.name!r}, but its key is its name; leave `name` out")
        named = {name: site.model_copy(update={"name": name}) for name, site in self.sites.items()}
        object.__setattr__(self, "sites", named)
        seen: dict[str, str] = {}
        for pair in self.pairs:
            for site in pair.sites:
                if site not in self.sites:
                    raise ValueError(f"pair {pair.name} names site {site}, which is not listed under sites")
            for service in pair.services:
                if service in seen:
                    raise ValueError(f"{service} is listed twice, by pair {seen[service]} and by pair {pair.name}")
                seen[service] = pair.name
        names = [hook.name for hook in self.hooks]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two hooks are called {name}")
        return self


@lru_cache(
    maxsize=256
)  # called for every device of every service of a run, and it is slow to distinguish an address from a name
def is_this_machine(host: str) -> bool:
    """Is ``host``, a name or an address, this machine?"""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False

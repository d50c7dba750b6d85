"""The inventory: sites, their devices, and the pairs between which services move.

Secrets are never in here, only references to them (environment variable, file, prompt). An inline password is
accepted with a warning, because a first try must be possible, and is a ``SecretStr`` that prints as stars.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    StringConstraints,
    field_validator,
    model_validator,
)

# A name becomes part of a device command: control characters, quotes, ';' and the like never get that far.
SERVICE_NAME = r"^[^\s\"'`;?*<>&|\\\x00-\x1f\x7f][^\"'`;?*<>&|\\\x00-\x1f\x7f]{0,31}$"

ServiceName = Annotated[str, StringConstraints(pattern=SERVICE_NAME)]
SiteName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$")]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SecretRef(_Strict):
    """Where a secret is: exactly one of ``env``, ``file``, ``prompt``, ``inline``."""

    env: str | None = None
    file: str | None = None
    prompt: Literal[True] | None = None
    inline: SecretStr | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> SecretRef:
        if sum(value is not None for value in (self.env, self.file, self.prompt, self.inline)) != 1:
            raise ValueError("give exactly one of env, file, prompt, inline")
        return self


class Login(_Strict):
    """How to log in. With ``key_file`` the password, if any, is the key's passphrase."""

    username: str
    password: SecretRef | None = None
    key_file: str | None = None


class Device(_Strict):
    """One node of a site. ``host_key`` pins ``<type> <base64>``; without it known_hosts decides."""

    name: str
    address: str = ""
    port: int = Field(default=22, ge=1, le=65535)
    host_key: str | None = None
    router_name: str | None = None


class Site(_Strict):
    """A data centre's side. Two ``devices`` are an HA pair: the one that serves is found anew for each step."""

    name: SiteName = ""
    title: str = ""
    adapter: str
    devices: tuple[Device, ...] = Field(min_length=1)
    login: Login | None = None
    known_hosts: str | None = None
    simulated: bool = Field(default=False, description="a lab's site; every output then says so")
    command_timeout: float = Field(default=15.0, gt=0, description="seconds for one command's whole answer")
    connect_timeout: float = Field(default=10.0, gt=0, description="seconds for one connection attempt")
    options: Mapping[str, Any] = Field(default_factory=dict, description="what this adapter alone understands")

    @field_validator("devices")
    @classmethod
    def _distinct(cls, devices: tuple[Device, ...]) -> tuple[Device, ...]:
        names = [device.name for device in devices]
        if len(set(names)) != len(names):
            raise ValueError("two devices of one site have the same name")
        return devices


class Pair(_Strict):
    """Two sites that replicate to each other. The first is the home site: a planned move starts from it.

    ``services`` lists what ``--all`` means; a name that is not listed is refused, so that a slip of the keyboard
    cannot move a stranger.
    """

    name: SiteName
    sites: tuple[SiteName, SiteName]
    services: tuple[ServiceName, ...] = Field(min_length=1)

    @field_validator("sites")
    @classmethod
    def _two_sites(cls, sites: tuple[str, str]) -> tuple[str, str]:
        if sites[0] == sites[1]:
            raise ValueError(f"the same site twice: {sites[0]}")
        return sites


class Inventory(_Strict):
    """All that can be moved, and where to."""

    sites: Mapping[SiteName, Site]
    pairs: tuple[Pair, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _consistent(self) -> Inventory:
        named = {name: site.model_copy(update={"name": name}) for name, site in self.sites.items()}
        object.__setattr__(self, "sites", named)
        seen: dict[str, str] = {}
        for pair in self.pairs:
            for site in pair.sites:
                if site not in self.sites:
                    raise ValueError(f"pair {pair.name} names site {site}, which is not listed under sites")
            for service in pair.services:
                if service in seen:
                    raise ValueError(f"{service} is listed by pair {seen[service]} and by pair {pair.name}")
                seen[service] = pair.name
        return self

    def pair_of(self, service: str) -> Pair | None:
        """The pair that lists ``service``, or None."""
        return next((pair for pair in self.pairs if service in pair.services), None)

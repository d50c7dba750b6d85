"""The ``options`` of a site for the adapter ``amps-admin``: how to connect to its instances, which instance belongs to
which service, and the assumptions about undocumented behaviour of AMPS. This module does not connect.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from adapters.http.options import HttpOptions
from orchestrator.errors import DefinitionError, NoSuchService
from orchestrator.family.contract import read_options
from orchestrator.model.inventory import Device, Site
from orchestrator.model.runbook import Duration, parse_duration

_SIZES = {"": 1, "b": 1, "k": 10**3, "m": 10**6, "kb": 1024, "mb": 1024**2, "gb": 1024**3, "tb": 1024**4}
_SIZE_MAX = 1e18
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)", re.IGNORECASE)


def parse_size(value: object) -> int:
    """Bytes of ``10GB`` (``kb mb gb tb`` count in 1024; ``k`` and ``m`` in 1000). Raises ``ValueError``."""
    found = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None or found[2].lower() not in _SIZES:
        raise ValueError("a size is a number with a unit: 500MB, 200GB, 1TB")
    size = float(found[1]) * _SIZES[found[2].lower()]
    if size > _SIZE_MAX:
        raise ValueError(f"a size must be at most {_SIZE_MAX:.0e} bytes")
    return int(size)


Size = Annotated[int, BeforeValidator(parse_size, json_schema_input_type=str)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class AdminAssumptions(_Strict):
    """The assumptions about undocumented behaviour of AMPS. The inventory may change them."""

    check_segment: Literal["transport", "transports"] = Field(
        default="transport",
        description="the word in the path of the entitlement check; the AMPS documentation uses both words",
    )
    missing_list_is_empty: bool = Field(
        default=False, description="if true, a list that an answer leaves out is empty; if false, it is unknown"
    )
    keeping_up_s: float = Field(
        default=1.0, ge=0, description="a link under load keeps up if it is at most this many seconds behind"
    )
    recovered_when_replicating: bool = Field(
        default=True, description="an instance with a connected outgoing link has finished its recovery"
    )


class ServiceOptions(_Strict):
    """The options that differ by service. An option that is left out has the site's value."""

    device: str | None = Field(default=None, description="the device that is this service's instance")
    mate: str | None = Field(default=None, description="name, destination or group of the link to the other site")
    client_transports: tuple[str, ...] | None = Field(default=None, min_length=1)
    journal_capacity: Size | None = None


class Dumped(_Strict):
    """The output of ``ampServer --dump-config`` for an instance whose configuration includes files or has variables.

    ``served_sha256``: the hash of the configuration that the instance served when ``file`` was made. If the instance
    serves another configuration, the file is stale. A change of an included file does not change the served
    configuration.
    """

    file: str
    served_sha256: str = Field(pattern="^[0-9a-f]{64}$")


class AmpsOptions(HttpOptions):
    """The options of ``amps-admin``."""

    auth: Literal["negotiate"] | None = Field(
        default=None, description="log in with a Kerberos ticket (extra kerberos), in place of a login or a token"
    )
    mate: str | None = Field(default=None, description="name, destination or group of the link to the other site")
    link: Literal["sync", "async"] = Field(
        default="async",
        description="how this site's link to its mate is configured; with async, a run asks before it gives up messages",
    )
    client_transports: tuple[str, ...] | None = Field(
        default=None,
        min_length=1,
        description="names of the transports that clients use; by default all transports except replication",
    )
    not_applications: str = Field(
        default="", description="a regular expression; clients whose names match do not count"
    )
    interval: Duration | None = Field(
        default=None, description="the value of Admin/Interval, if the configuration cannot be read"
    )
    journal_capacity: Size | None = Field(default=None, description="the disk space that journals may take")
    outage: Duration = Field(
        default=86_400.0,
        validate_default=False,
        description="the longest outage of the mate that the journals must survive",
    )
    configurations: Mapping[str, Dumped] = Field(
        default={}, description="for each device, a file with its configuration and all included files"
    )
    services: Mapping[str, ServiceOptions] | None = None
    assume: AdminAssumptions = AdminAssumptions()

    @field_validator("not_applications")
    @classmethod
    def _compiles(cls, text: str) -> str:
        try:
            re.compile(text)
        except re.error as error:
            raise ValueError(f"this is not a regular expression: {error}") from error
        return text

    @model_validator(mode="after")
    def _consistent(self) -> AmpsOptions:
        if self.interval is not None and self.interval < 1:
            raise ValueError("the interval must be at least 1s")
        if self.auth is not None and self.token is not None:
            raise ValueError("`auth: negotiate` and `token` are two ways to log in; give one of them")
        return self

    def of(self, service: str) -> ServiceOptions:
        """The options that apply to ``service``."""
        own = (self.services or {}).get(service, ServiceOptions())
        return ServiceOptions(
            device=own.device,
            mate=own.mate or self.mate,
            client_transports=own.client_transports or self.client_transports,
        ).model_copy(update={"journal_capacity": own.journal_capacity or self.journal_capacity})


def interval_of(site: Site) -> float | None:
    """Seconds between two samples, if the inventory gives them, for any adapter of the site."""
    interval = site.options.get("interval")
    return parse_duration(interval) if isinstance(interval, str) else None


def options_of(site: Site) -> AmpsOptions:
    """The site's options. Raises ``DefinitionError``."""
    options = read_options(site, AmpsOptions, adapter="amps-admin")
    if options.auth is not None and site.login is not None:
        raise DefinitionError(
            f"site {site.name} has both a login and `auth: negotiate` in its options: these are two ways to log in",
            hint="with `auth: negotiate` the Kerberos ticket is the login; remove the login or `auth: negotiate`",
        )
    names = {device.name for device in site.devices}
    for device in set(options.configurations) - names:
        raise DefinitionError(
            f"options of site {site.name}: configurations: no device is called {device!r}",
            hint=f"the site has: {', '.join(sorted(names))}",
        )
    for service, own in (options.services or {}).items():
        if own.device is not None and own.device not in names:
            raise DefinitionError(
                f"options of site {site.name}: services.{service}: no device is called {own.device!r}",
                hint=f"the site has: {', '.join(sorted(names))}",
            )
    return options


def device_of(site: Site, options: AmpsOptions, service: str) -> Device:
    """The instance of ``service``: the device that the options name, else the device with the service's name, else the
    only device.

    Raises ``NoSuchService``.
    """
    known = options.services
    own = options.of(service).device
    if known is None or service in known:
        named = next((device for device in site.devices if device.name == (own or service)), None)
        if named is not None:
            return named
        if own is None and len(site.devices) == 1:
            return site.devices[0]
    raise NoSuchService(
        f"no device of {site.name or 'the site'} is the instance of {service!r}",
        device=site.name,
        hint="name its device in the site's options: services: {NAME: {device: …}}",
    )

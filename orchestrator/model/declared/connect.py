"""How the program reaches a site of a declared family: its database, commands, API or messages.

docs/reference/declared-families.md is the grammar.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, StringConstraints, field_validator

from orchestrator.model.declared.requests import Name, Strict, Text
from orchestrator.model.reading import Scalar

# The extra options of a site whose family has an API over HTTP (``adapters/http/options.py``).
HTTP_OPTIONS = ("scheme", "ca_file", "token", "insecure_http")
# The extra options of a site that gets messages (``adapters/declared/messages.py``).
NATS_OPTIONS = ("scheme", "ca_file", "token", "insecure_nats")
# The extra options of a site that gets commands over SSH (``adapters/ssh/credentials.py``).
SSH_OPTIONS = ("allow_agent", "look_for_keys")


def compiled(regex: str) -> re.Pattern[str]:
    """The pattern of a regular expression. Raises ``ValueError`` if ``regex`` is not one."""
    try:
        return re.compile(regex)
    except re.error as error:
        raise ValueError(f"this is not a valid regular expression: {error.msg}") from None


class SqlFile(Strict):
    """A database at each site. ``driver``: the driver as SQLAlchemy names it. Address, port and login are those of the
    site's device. ``arguments``: passed to the driver. ``database``: a name, or the option ``{name}`` that holds it."""

    driver: Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(\+[a-z0-9]+)?$")]
    database: Text
    arguments: Mapping[str, Scalar] = Field(default_factory=dict)


class ExecFile(Strict):
    """Programs on the machine that runs this program. ``path``: the folders that are searched, in this order and before
    the usual folders, for a name without a slash. An entry may be the option ``{name}``. ``password``: the environment
    variable
    in which a command gets the password of the site's login. The command gets no other variable of this process.
    ``unreachable`` and ``denied``: regular expressions for the output of a failed command if the site did not answer, and
    if the login was refused. In both cases nothing was sent."""

    path: tuple[Text, ...] = ()
    password: Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]{0,62}$")] | None = None
    unreachable: str = ""
    denied: str = ""

    @field_validator("unreachable", "denied")
    @classmethod
    def _compiles(cls, regex: str) -> str:
        compiled(regex)
        return regex


class SshFile(Strict):
    """Programs on the site's device, over one SSH session that stays open. Address, port, host key and login are those of
    the device, as for every site over SSH. ``port``: the option that holds the port, if it differs from the device's."""

    port: Name | None = None


class HttpFile(Strict):
    """An API over HTTP at each site. Every such site has options for the scheme, the CA and the token. Without a token,
    the site's login is sent as Basic authentication. Without a token and a login, neither is sent. ``port``: the option
    that holds the port, if it differs from the device's."""

    port: Name | None = None


class NatsFile(Strict):
    """Messages with an answer, over the NATS protocol, with one connection to each site. Every such site has options for
    the scheme, the CA and the token. Without a token, the site's login is sent. ``port`` as for ``http``."""

    port: Name | None = None


class ConnectFile(Strict):
    """The ways to reach a site."""

    sql: SqlFile | None = None
    exec: ExecFile | None = None
    ssh: SshFile | None = None
    http: HttpFile | None = None
    nats: NatsFile | None = None

    @property
    def protocols(self) -> tuple[str, ...]:
        """The declared protocols for requests."""
        return tuple(name for name in ("http", "nats") if getattr(self, name) is not None)

    @property
    def given(self) -> tuple[str, ...]:
        """The options that each site has because of the declared ways."""
        over_http = () if self.http is None else HTTP_OPTIONS
        over_ssh = () if self.ssh is None else SSH_OPTIONS
        return (*over_http, *(() if self.nats is None else NATS_OPTIONS), *over_ssh)

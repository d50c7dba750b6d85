"""How a site of a declared family is reached: its database, commands, API or messages.

docs/reference/declared-families.md is the grammar.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, StringConstraints, field_validator

from orchestrator.model.declared.requests import Name, Strict, Text
from orchestrator.model.reading import Scalar

# What a site whose family has an API over HTTP may say besides (``adapters/http/options.py``).
HTTP_OPTIONS = ("scheme", "ca_file", "token", "insecure_http")
# The same of one that messages reach (``adapters/declared/messages.py``).
NATS_OPTIONS = ("scheme", "ca_file", "token", "insecure_nats")
# The same of one whose commands go over SSH (``adapters/ssh/credentials.py``).
SSH_OPTIONS = ("allow_agent", "look_for_keys")


def compiled(regex: str) -> re.Pattern[str]:
    """The pattern of a regular expression. Raises ``ValueError`` for what is none."""
    try:
        return re.compile(regex)
    except re.error as error:
        raise ValueError(f"this is no regular expression: {error.msg}") from None


class SqlFile(Strict):
    """A database of each site: the driver in SQLAlchemy's words. Address, port and login are those of the site's device.
    ``arguments`` are handed to the driver; ``database`` is a name, or the option ``{name}`` that has it."""

    driver: Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(\+[a-z0-9]+)?$")]
    database: Text
    arguments: Mapping[str, Scalar] = Field(default_factory=dict)


class ExecFile(Strict):
    """Programs on the machine that runs this one. ``path``: where a name without a slash is looked for, first to last;
    the usual folders follow. An entry may be the option ``{name}``. ``password``: the environment variable in which a
    command finds the password of the site's login; no other variable of this process reaches it. ``unreachable`` and
    ``denied``: regular expressions for what a command that failed says when nobody answered, and when the login was
    refused; nothing was sent then."""

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
    the device, as for every site over SSH. ``port``: the option that has the port, if the device's own is another one."""

    port: Name | None = None


class HttpFile(Strict):
    """An API over HTTP at each site: the scheme, the CA and the token are options that every such site has. Without a
    token, the site's login is sent as Basic; a site without a login sends neither. ``port``: the option that has the
    port, if the device's own is another one."""

    port: Name | None = None


class NatsFile(Strict):
    """Messages that are answered, over the NATS protocol: one connection with each site. The scheme, the CA and the token
    are options that every such site has. Without a token, the site's login is sent. ``port`` as for ``http``."""

    port: Name | None = None


class ConnectFile(Strict):
    """How a site is spoken to."""

    sql: SqlFile | None = None
    exec: ExecFile | None = None
    ssh: SshFile | None = None
    http: HttpFile | None = None
    nats: NatsFile | None = None

    @property
    def protocols(self) -> tuple[str, ...]:
        """Those over which requests go."""
        return tuple(name for name in ("http", "nats") if getattr(self, name) is not None)

    @property
    def given(self) -> tuple[str, ...]:
        """Options that each site has because of it."""
        over_http = () if self.http is None else HTTP_OPTIONS
        over_ssh = () if self.ssh is None else SSH_OPTIONS
        return (*over_http, *(() if self.nats is None else NATS_OPTIONS), *over_ssh)

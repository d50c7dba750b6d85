"""The ``options`` of a site for HTTP, and the values made from them: the origin, the proof, the trusted CA.

There is no option to trust a certificate that was not checked. Plain HTTP carries the password in clear text, so it
goes to this machine only, unless the inventory says ``insecure_http: true``. Nothing here connects.
"""

from __future__ import annotations

import base64
import re
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.errors import AuthenticationFailed, DefinitionError
from orchestrator.family.contract import Secrets
from orchestrator.model.inventory import Device, SecretRef, Site, is_this_machine

_SSH_PORT = 22  # the port of a device for which no port was given
_TOKEN = re.compile(r"[!-~]+")  # wider than RFC 6750, section 2.1: any single word that a header can hold


class HttpOptions(BaseModel):
    """The options for HTTP with the devices of a site."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    scheme: Literal["https", "http"] = Field(
        default="https", description="use plain http only for a lab on this machine"
    )
    ca_file: str | None = Field(
        default=None, description="PEM file of the only CA to trust; by default, the CAs of the system"
    )
    token: SecretRef | None = Field(
        default=None, description="an OAuth bearer token that is used instead of the login"
    )
    insecure_http: bool = Field(
        default=False, description="allow plain http to another machine; the password is then sent in clear text"
    )


def origin_of(device: Device, options: HttpOptions) -> tuple[str, str, int]:
    """Scheme, host and port of ``device``. Raises ``DefinitionError`` if no port was given, and for plain HTTP to
    another machine."""
    host = device.address or device.name
    if device.port == _SSH_PORT:
        raise DefinitionError(
            f"the inventory must give the management port of device {device.name} for {options.scheme}",
            hint="the https port is usually 1943 on software brokers, and 443 on appliances; check the device's setting",
        )
    if options.scheme == "http" and not options.insecure_http and not is_this_machine(host):
        raise DefinitionError(
            f"plain http to {host} would send the password of {device.name} in clear text",
            hint="use scheme https with a ca_file; insecure_http: true accepts the risk",
        )
    return options.scheme, host, device.port


def trust_of(options: HttpOptions) -> ssl.SSLContext:
    """The trusted certificates; host names are always checked. Raises ``DefinitionError`` for a bad CA file."""
    if options.ca_file is None and options.scheme == "http":
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # verifies nothing, since there is no TLS
    if options.ca_file is None:
        return ssl.create_default_context()
    path = Path(options.ca_file).expanduser()
    try:
        return ssl.create_default_context(cafile=str(path))
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        why = error.strerror if isinstance(error, OSError) and error.strerror else "the file has no PEM certificate"
        raise DefinitionError(f"ca_file {path} cannot be used: {why}") from error


def proof_of(site: Site, options: HttpOptions, secrets: Secrets) -> Callable[[], str]:
    """Returns a function that makes the ``Authorization`` header. Secrets are read only when the header is needed."""

    def proof() -> str:
        if options.token is not None:
            token = secrets.reveal(options.token, what=f"token for {site.name}")
            if _TOKEN.fullmatch(token) is None:
                # httpx would refuse it too, with the whole header in the text of its error.
                raise AuthenticationFailed(
                    f"the token for {site.name} has a character that is not allowed in a token",
                    device=site.name,
                    hint="a token is one word of ASCII; check that its file or variable has no blank and no line end",
                )
            return "Bearer " + token
        login = site.login
        if login is None or login.password is None:
            raise AuthenticationFailed(
                f"the inventory gives no login with a password for {site.name}",
                device=site.name,
                hint="add login: {username: …, password: {env: …}} to the site, or a token to its options",
            )
        password = secrets.reveal(login.password, what=f"password of {login.username} at {site.name}")
        return "Basic " + base64.b64encode(f"{login.username}:{password}".encode()).decode("ascii")

    return proof

"""What a site says about HTTP: plain HTTP and unchecked certificates are not had by accident."""

from __future__ import annotations

import base64
import ssl
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from adapters.http.options import HttpOptions, origin_of, proof_of, trust_of
from orchestrator.errors import AuthenticationFailed, DefinitionError
from orchestrator.model.inventory import Device, Login, SecretRef, Site


class Known:
    def reveal(self, reference: object, *, what: str) -> str:
        assert isinstance(reference, SecretRef)
        return f"{reference.env}!"


def site(**more: Any) -> Site:
    return Site(name="ny", adapter="solace-semp", devices=(Device(name="ny1"),), **more)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost"])
def test_plain_http_goes_to_this_machine(host: str) -> None:
    """A lab is spoken to without TLS."""
    device = Device(name="ny1", address=host, port=8080)
    assert origin_of(device, HttpOptions(scheme="http")) == ("http", host, 8080)


@pytest.mark.parametrize("host", ["ny1.example.com", "10.0.0.1", "localhost.example.com", "0.0.0.0"])
def test_plain_http_to_another_machine_is_refused(host: str) -> None:
    """The password would travel in clear text; the inventory has to say that it may."""
    device = Device(name="ny1", address=host, port=8080)
    with pytest.raises(DefinitionError, match="clear text"):
        origin_of(device, HttpOptions(scheme="http"))
    assert origin_of(device, HttpOptions(scheme="http", insecure_http=True)) == ("http", host, 8080)
    assert origin_of(device, HttpOptions()) == ("https", host, 8080)


def test_a_port_is_asked_for() -> None:
    """A device without a port has that of SSH, where nobody speaks HTTP."""
    with pytest.raises(DefinitionError, match="the management port of device ny1"):
        origin_of(Device(name="ny1", address="127.0.0.1"), HttpOptions())


def test_a_device_without_an_address_is_found_by_its_name() -> None:
    """As over SSH."""
    assert origin_of(Device(name="ny1", port=443), HttpOptions())[1] == "ny1"


def test_there_is_no_option_not_to_check() -> None:
    """Neither a documented one, nor one that slips through."""
    for name in ("verify", "insecure", "check_hostname"):
        with pytest.raises(ValidationError):
            HttpOptions.model_validate({name: False})
    context = trust_of(HttpOptions())
    assert (context.check_hostname, context.verify_mode) == (True, ssl.CERT_REQUIRED)


@pytest.mark.parametrize("text", [None, "", "no certificate"])
def test_a_ca_file_that_is_none_is_a_definition_error(tmp_path: Path, text: str | None) -> None:
    """It is not passed over in favour of the system's CAs."""
    file = tmp_path / "ca.pem"
    if text is not None:
        file.write_text(text)
    with pytest.raises(DefinitionError, match="ca_file"):
        trust_of(HttpOptions(ca_file=str(file)))


def test_the_login_proves_itself() -> None:
    """Basic, with the password that the reference names."""
    proof = proof_of(site(login=Login(username="ann", password=SecretRef(env="PW"))), HttpOptions(), Known())
    assert proof() == "Basic " + base64.b64encode(b"ann:PW!").decode()


def test_a_token_goes_before_the_login() -> None:
    """OAuth: the login is not even looked at."""
    proof = proof_of(site(), HttpOptions(token=SecretRef(env="TOKEN")), Known())
    assert proof() == "Bearer TOKEN!"


@pytest.mark.parametrize("token", ["two\nlines", "a return\r", "T\u00f6KEN", "a blank"])
def test_a_token_that_no_header_can_hold(token: str) -> None:
    """Refused before anything leaves: the library would put the whole header into the text of its error."""

    class Holds:
        def reveal(self, reference: object, *, what: str) -> str:
            return token

    with pytest.raises(
        AuthenticationFailed, match="token for ny has a character that is not allowed in a token"
    ) as caught:
        proof_of(site(), HttpOptions(token=SecretRef(env="TOKEN")), Holds())()
    assert token not in str(caught.value)


@pytest.mark.parametrize("login", [None, Login(username="ann"), Login(username="ann", key_file="~/.ssh/key")])
def test_without_a_password_nothing_is_sent(login: Login | None) -> None:
    """A key of SSH proves nothing here."""
    with pytest.raises(AuthenticationFailed, match="no login with a password"):
        proof_of(site(login=login), HttpOptions(), Known())()

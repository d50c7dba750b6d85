"""``auth: negotiate`` without a realm: how the inventory says it, a missing extra, and what a 401 says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from adapters.amps.client import refusal_of
from adapters.amps.options import options_of
from adapters.http.exchange import Reply
from orchestrator.errors import DefinitionError
from orchestrator.model.inventory import Device, Login, Site

INVENTORY = """\
sites:
  ny: {adapter: amps-admin, devices: [{name: a, address: 127.0.0.1, port: 9}], options: {scheme: http, auth: AUTH}}
  nj: {adapter: amps-admin, devices: [{name: b, address: 127.0.0.1, port: 9}], options: {scheme: http, auth: AUTH}}
pairs: [{name: orders, sites: [ny, nj], services: [orders]}]
"""


def site(login: Login | None = None, **options: object) -> Site:
    """One instance, as an inventory has it."""
    return Site(
        name="ny",
        adapter="amps-admin",
        devices=(Device(name="a", address="127.0.0.1", port=9),),
        login=login,
        options=options,
    )


def test_a_ticket_needs_no_login() -> None:
    """Law: `auth: negotiate` is the whole of it: no account and no password stands in the inventory."""
    assert options_of(site(auth="negotiate")).auth == "negotiate"
    assert options_of(site()).auth is None


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (site(Login(username="failover"), auth="negotiate"), "site ny has both a login and `auth: negotiate`"),
        (site(auth="negotiate", token={"env": "T"}), "`auth: negotiate` and `token` are two ways to log in"),
        (site(auth="ntlm"), "negotiate"),
    ],
)
def test_two_ways_to_log_in_are_none(given: Site, sentence: str) -> None:
    """Law: a ticket beside a login or a token is refused with a sentence, and so is a way that is not known."""
    with pytest.raises(DefinitionError) as caught:
        options_of(given)
    assert sentence in str(caught.value)


@pytest.mark.realtime
@pytest.mark.parametrize("command", ["status", "check", "controlled --service orders --yes --dry-run"])
def test_without_the_extra(tmp_path: Path, command: str) -> None:
    """Law: without the extra a command says so in one sentence, with what to install, before it asks any instance."""
    (tmp_path / "amps.yaml").write_text(INVENTORY.replace("AUTH", "negotiate"), encoding="utf-8")
    hide = "import sys; sys.modules.update(gssapi=None, httpx_gssapi=None)"
    words = [*command.split(), "--inventory", "amps.yaml"]
    script = f"{hide}; from orchestrator.cli.main import main; sys.exit(main({words}))"
    environment = {**os.environ, "FAILOVER_STATE": "state", "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    *_, sentence, remedy = done.stderr.splitlines()
    assert sentence.startswith("failover: `auth: negotiate` needs the Kerberos library for Python")
    assert "pip install 'failover[kerberos]'" in remedy


@pytest.mark.realtime
def test_a_login_needs_no_extra(tmp_path: Path) -> None:
    """Law: nothing of the extra is imported for an inventory that does not ask for it."""
    (tmp_path / "amps.yaml").write_text(INVENTORY.replace(", auth: AUTH", ""), encoding="utf-8")
    script = (
        "import sys; from orchestrator.cli.main import main; main(['status', '-i', 'amps.yaml'])\n"
        "assert not {'gssapi', 'httpx_gssapi'} & set(sys.modules)"
    )
    environment = {**os.environ, "FAILOVER_STATE": "state", "PYTHONPATH": str(Path(__file__).parents[2])}
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, check=True)


@pytest.mark.parametrize(
    ("status", "offered", "by_ticket", "says", "remedy"),
    [
        (401, "Negotiate", False, "asks for Negotiate, but the inventory is set to Basic", "`auth: negotiate`"),
        (401, "Negotiate", True, "(HTTP 401)", "klist"),
        (401, "negotiate oYG2", True, "(HTTP 401)", "keytab"),
        (
            401,
            'Basic realm="AMPS"',
            True,
            "asks for Basic, but the inventory is set to Negotiate",
            "give the site a login",
        ),
        (401, "NTLM", True, "asks for NTLM, but the inventory is set to Negotiate", "WWWAuthenticate"),
        (403, "", True, "(HTTP 403)", "Entitlement"),
        (403, "", False, "(HTTP 403)", "login"),
    ],
)
def test_what_a_refusal_says(status: int, offered: str, by_ticket: bool, says: str, remedy: str) -> None:
    """Law: a refusal names the way in that is asked for, or what to look at where it was the one that was tried."""
    headers = {"www-authenticate": offered} if offered else {}
    error = refusal_of(Reply(status, headers, b"", 0.0, 0.0), "orders-ny", by_ticket=by_ticket)
    assert says in str(error)
    assert remedy in error.hint
    assert ("asks for" in str(error)) is ("asks for" in says)

"""A Kerberos realm of a test's own: a KDC on a free port of loopback, its principals, and a server that takes tickets."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from simulator.http.server import Handler, Incoming, Outgoing
from tests.journal.servers import until
from tests.spark.apart import free_port

REALM, USER, PASSWORD = "EXAMPLE.TEST", "ops", "p-of-ops"
_PATH = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))
_PROGRAMS = ("krb5kdc", "kdb5_util", "kadmin.local", "kinit", "klist")
# Ends the KDC as soon as the pipe is closed, as the system does it for a process that is killed.
_GUARDIAN = '"$@" >>kdc.out 2>&1 & server=$!; read word; kill $server; wait $server'
_KRB5 = """\
[libdefaults]
    default_realm = {realm}
    dns_lookup_kdc = false
    dns_lookup_realm = false
    dns_canonicalize_hostname = false
    rdns = false
    udp_preference_limit = 1
[realms]
    {realm} = {{
        kdc = 127.0.0.1:{port}
    }}
"""
_KDC = """\
[kdcdefaults]
    kdc_listen = ""
    kdc_tcp_listen = 127.0.0.1:{port}
[realms]
    {realm} = {{
        database_name = {folder}/principal
        key_stash_file = {folder}/stash
        acl_file = {folder}/acl
    }}
[logging]
    kdc = FILE:{folder}/kdc.log
"""


@dataclass
class Realm:
    """One KDC. ``environment`` is what a process in the realm has besides its own: no ticket and no keytab yet."""

    folder: Path
    port: int = field(default_factory=free_port)
    _guardian: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        words = {"realm": REALM, "port": self.port, "folder": self.folder}
        (self.folder / "krb5.conf").write_text(_KRB5.format(**words), encoding="utf-8")
        (self.folder / "kdc.conf").write_text(_KDC.format(**words), encoding="utf-8")

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": _PATH,
            "LC_ALL": "C",
            "KRB5_CONFIG": str(self.folder / "krb5.conf"),
            "KRB5_KDC_PROFILE": str(self.folder / "kdc.conf"),
            "KRB5CCNAME": f"FILE:{self.folder / 'cache'}",
            "KRB5_CLIENT_KTNAME": str(self.folder / "no-keytab"),
            "KRB5RCACHENAME": "none:",
        }

    def call(self, *command: str, given: str = "") -> subprocess.CompletedProcess[str]:
        """One of the programs, with ``given`` as its input."""
        environment = {
            **self.environment,
            **{name: os.environ[name] for name in ("KRB5CCNAME",) if name in os.environ},
        }
        return subprocess.run(
            command, cwd=self.folder, env=environment, input=given, capture_output=True, text=True, check=False
        )

    def make(self) -> None:
        """A new database with one user."""
        self._must("kdb5_util", "create", "-s", "-P", "master", "-r", REALM)
        self._must("kadmin.local", "addprinc", "-pw", PASSWORD, USER)

    def keytab(self, *principals: str) -> Path:
        """A keytab of these, which are made for it."""
        keytab = self.folder / f"{principals[0].replace('/', '-')}.keytab"
        for principal in principals:
            self._must("kadmin.local", "addprinc", "-randkey", principal)
            self._must("kadmin.local", "ktadd", "-k", str(keytab), principal)
        return keytab

    def kinit(self, *options: str) -> None:
        """A ticket of the user, into the cache."""
        done = self.call("kinit", *options, USER, given=f"{PASSWORD}\n")
        assert done.returncode == 0, done.stderr

    def has_ticket(self) -> bool:
        """Is there one that has not expired?"""
        return self.call("klist", "-s").returncode == 0

    def start(self) -> None:
        """Start the KDC, and wait until it answers."""
        self._guardian = subprocess.Popen(
            ["sh", "-c", _GUARDIAN, "guardian", "krb5kdc", "-n", "-P", str(self.folder / "pid")],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        until(lambda: self.call("kinit", "-c", "FILE:probe", USER, given=f"{PASSWORD}\n").returncode == 0)

    def stop(self) -> None:
        """End it at once."""
        if self._guardian is not None:
            guardian, self._guardian = self._guardian, None
            guardian.communicate(b"stop\n", timeout=30)

    def _must(self, *command: str) -> None:
        done = self.call(*command)
        assert done.returncode == 0, done.stderr


@contextmanager
def a_realm(folder: Path) -> Iterator[Realm]:
    """One that runs. Skips the test where the programs, or the extra, are missing."""
    missing = [name for name in _PROGRAMS if shutil.which(name, path=_PATH) is None]
    if missing:
        pytest.skip(f"no Kerberos: {', '.join(missing)} missing; install krb5-kdc and krb5-admin-server")
    for module in ("gssapi", "httpx_gssapi"):
        pytest.importorskip(module, reason=f"{module} is not installed: install libkrb5-dev and gcc, then make test")
    realm = Realm(folder)
    realm.make()
    realm.start()
    try:
        yield realm
    finally:
        realm.stop()


@dataclass
class Door:
    """Lets in whose request has a ticket for a key in ``keytab``; ``/amps`` needs none. ``who``: each principal
    that came in. ``refused``: how many requests did not. ``is_liar``: its own proof is wrong."""

    keytab: Path
    is_liar: bool = False
    who: list[str] = field(default_factory=list)
    refused: int = 0

    def __call__(self, handler: Handler) -> Handler:
        def answer(request: Incoming) -> Outgoing:
            if request.target == "/amps":
                return handler(request)
            proof = self._proof(request.headers.get("authorization", ""))
            if proof is None:
                self.refused += 1
                return Outgoing(401, b"authentication is required\n", "text/plain", {"WWW-Authenticate": "Negotiate"})
            inner = handler(request)
            return replace(inner, headers={**inner.headers, "WWW-Authenticate": f"Negotiate {proof}"})

        return answer

    def _proof(self, authorization: str) -> str | None:
        """What proves us to the client; None for a client that does not prove itself."""
        import gssapi
        from gssapi.raw import GSSError

        scheme, _, token = authorization.partition(" ")
        if scheme != "Negotiate":
            return None
        ours = gssapi.Credentials(usage="accept", store={"keytab": str(self.keytab)})
        context = gssapi.SecurityContext(usage="accept", creds=ours)
        try:
            proof = context.step(base64.b64decode(token))
            if not context.complete:
                return None
        except GSSError:
            return None
        self.who.append(str(context.initiator_name))
        made = bytearray(proof or b"")
        if self.is_liar:
            made[-1] ^= 1
        return base64.b64encode(bytes(made)).decode("ascii")

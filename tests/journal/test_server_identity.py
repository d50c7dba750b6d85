"""A journal on another machine: its server has to prove who it is before anything is read there or kept there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from tests.cli.shell import Ended, Shell

pytestmark = pytest.mark.realtime


@contextmanager
def serving_tls(url: str, folder: Path, name: str) -> Iterator[Path]:
    """The server of ``url`` with a certificate for ``name``; the file of the only CA that vouches for it."""
    key = generate_private_key(SECP256R1())
    who = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    certificate = (
        x509.CertificateBuilder(who, who, key.public_key(), x509.random_serial_number())
        .not_valid_before(datetime(2020, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2120, 1, 1, tzinfo=UTC))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, SHA256())
    )
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as server:
        data = Path(str(server.execute(sa.text("SHOW data_directory")).scalar_one()))
        files = {"ssl_cert_file": data / "tls.pem", "ssl_key_file": data / "tls.key"}
        (folder / "ca.pem").write_bytes(certificate.public_bytes(Encoding.PEM))
        shutil.copy(folder / "ca.pem", files["ssl_cert_file"])
        files["ssl_key_file"].touch(mode=0o600)
        files["ssl_key_file"].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        for setting, path in files.items():
            os.chown(path, data.stat().st_uid, data.stat().st_gid)
            server.execute(sa.text(f"ALTER SYSTEM SET {setting} = '{path}'"))
        server.execute(sa.text("ALTER SYSTEM SET ssl = on"))
        server.execute(sa.text("SELECT pg_reload_conf()"))
    _until(engine, "on")
    try:
        yield folder / "ca.pem"
    finally:
        with engine.connect() as server:
            server.execute(sa.text("ALTER SYSTEM RESET ssl"))
            server.execute(sa.text("SELECT pg_reload_conf()"))
        engine.dispose()


def _until(engine: sa.Engine, state: str) -> None:
    """The server takes a change of its settings in its own time: who connects now finds it as before, or as wanted."""
    for _ in range(1_000):
        engine.dispose()
        with engine.connect() as server:
            if server.execute(sa.text("SHOW ssl")).scalar_one() == state:
                return
    raise AssertionError(f"TLS is not {state}")


def test_tls_to_the_server(
    postgresql: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Law (promise 10): a journal on another machine is used only if its server shows a certificate for its name by a CA
    that was named; without TLS, without a CA, or under another name it is not, and the way out is said."""
    shell = Shell(tmp_path, capsys)
    elsewhere = sa.make_url(postgresql).set(host="db.example").update_query_dict({"hostaddr": "127.0.0.1"})

    def ended(**query: str) -> Ended:
        text = elsewhere.update_query_dict(query).render_as_string(hide_password=False)
        monkeypatch.setenv("FAILOVER_JOURNAL", text)
        return shell("runs", "list")

    plain = ended()
    assert (plain.code, "sslrootcert=" in plain.hint) == (6, True), plain.err
    with serving_tls(postgresql, tmp_path, "db.example") as ca_file:
        assert ended().code == 6  # no CA was named
        assert ended(sslrootcert=str(ca_file)).code == 0
    with serving_tls(postgresql, tmp_path, "other.example") as ca_file:
        wrong = ended(sslrootcert=str(ca_file))
        assert (wrong.code, "db.example" in wrong.complaint) == (6, True), wrong.err
        assert ended(sslmode="require").code == 0  # who says so has said so

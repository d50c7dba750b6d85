"""-v, -vv and --log-file against a device that repeats our secrets in every form that a protocol gives them."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus, unquote, unquote_plus

import httpx
import pytest

from adapters.http.exchange import Limits, Request
from adapters.http.options import HttpOptions, trust_of
from adapters.http.session import HttpSession
from orchestrator.cli.render.terminal import redact_with
from orchestrator.cli.wire_log import WireLog
from orchestrator.clock import VirtualClock
from orchestrator.family.secrets import SecretStore
from orchestrator.model.inventory import SecretRef

SECRETS = {
    "plain": "hunter2-hunter2",
    "awkward": 'sw"ord/fish\\ä ö+&<%>',
    "of two lines": "correct horse\nbattery staple",
}


def _escapes(text: str, form: str) -> str:
    return "".join(one if one.isascii() and one.isalnum() else form.format(ord(one)) for one in text)


def _folded(text: str, columns: int, end: str) -> str:
    whole = base64.b64encode(text.encode()).decode()
    return end.join(whole[at : at + columns] for at in range(0, len(whole), columns))


# Each form with what it means to a reader: whoever can undo it has the secret.
FORMS: Mapping[str, Callable[[str], str]] = {
    "as it is": str,
    "percent": lambda text: quote(text, safe=""),
    "percent, path": quote,
    "percent, form": quote_plus,
    "percent, lower case": lambda text: quote(text, safe="").lower() if text.isascii() else quote(text, safe=""),
    "percent, twice": lambda text: quote(quote(text, safe=""), safe=""),
    "JSON": lambda text: json.dumps(text)[1:-1],
    "JSON, not ASCII": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "JSON, slashes": lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    "JSON, upper case": lambda text: "".join(
        one if one.isascii() else f"\\u{ord(one):04X}" for one in json.dumps(text, ensure_ascii=False)[1:-1]
    ),
    "JSON, for HTML": lambda text: (
        json.dumps(text)[1:-1].replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    ),
    "JSON in JSON": lambda text: json.dumps(json.dumps(text)[1:-1])[1:-1],
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 of a URL": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "base64 with a user": lambda text: base64.b64encode(f"admin:{text}".encode()).decode(),
    "base64 with a longer user": lambda text: base64.b64encode(f"admins:{text}".encode()).decode(),
    "base64 in JSON": lambda text: base64.b64encode(json.dumps({"p": text}).encode()).decode(),
    "base64, as mail": lambda text: _folded(f"{'x' * 40}{text}", 76, "\r\n"),
    "base64, as PEM": lambda text: _folded(f"{'x' * 31}{text}", 64, "\n"),
    "base64, indented": lambda text: _folded(f"{'x' * 20}{text}", 32, "\n    "),
    "base64, lines in JSON": lambda text: json.dumps(_folded(f"{'x' * 40}{text}", 76, "\r\n"))[1:-1],
    "base64, lines in XML": lambda text: _folded(f"{'x' * 31}{text}", 64, "&#13;&#xA;"),
    "base64, lines in a query": lambda text: quote(_folded(f"{'x' * 31}{text}", 64, "\r\n")),
    "HTML": html.escape,
    "XML, numbers": lambda text: "".join(
        one if one.isalnum() and one.isascii() else f"&#{ord(one)};" for one in text
    ),
    "XML, hexadecimal": lambda text: _escapes(text, "&#x{0:X};"),
}


def log_of(secret: str, capsys: pytest.CaptureFixture[str], path: Path, targets: Iterable[str], body: bytes) -> str:
    """What -vv shows and the file has, where a device repeats what it was sent and the secret in every form."""
    secrets, clock = SecretStore(None, environment={"PASSWORD": secret}), VirtualClock()
    redact_with(secrets.redactor)
    log = WireLog(2, path)

    def proof() -> str:
        found = secrets.reveal(SecretRef(env="PASSWORD"), what="password")
        return "Basic " + base64.b64encode(f"admin:{found}".encode()).decode()

    def answer(request: httpx.Request) -> httpx.Response:
        repeated = [str(request.url), request.headers["Authorization"], request.content.decode()]
        forms = [f"{name}: {write(secret)}" for name, write in FORMS.items()]
        text = "\n".join([*repeated, f"https://admin:{quote(secret)}@ny/", *forms])
        return httpx.Response(200, stream=httpx.ByteStream(text.encode()))

    session: Any = HttpSession(
        "NY_Appliance1",
        ("https", "ny.example", 443),
        proof=proof,
        trust=trust_of(HttpOptions()),
        limits=Limits(5.0, 5.0),
        clock=clock,
        transport=httpx.MockTransport(answer),
        witness=log,
    )
    with closing(log), closing(session):
        for target in targets:
            session.exchange(Request("POST", target, body, "application/json"))
    return capsys.readouterr().err + path.read_text(encoding="utf-8")


def undone(text: str) -> set[str]:
    """``text`` as a thief reads it: with its lines joined, and with every encoding undone, up to three deep."""
    found = {text, text.replace("\n", ""), re.sub(r"\s+", "", text)}
    for _ in range(3):
        found |= {turned for one in found for turn in UNDO for turned in turn(one)}
    return found


def _base64(text: str) -> Iterator[str]:
    for run in re.findall(r"[A-Za-z0-9_+/-]{8,}", text):
        for offset in range(4):
            part = run[offset:].replace("-", "+").replace("_", "/")
            with suppress(ValueError):
                yield base64.b64decode(part[: len(part) - (len(part) % 4 == 1)] + "==").decode("utf-8", "replace")


UNDO: tuple[Callable[[str], Iterable[str]], ...] = (
    lambda text: (unquote(text), unquote_plus(text), html.unescape(text)),
    lambda text: (re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text),),
    lambda text: (re.sub(r"(?:\\[rn]|\s)+", "", text),),
    lambda text: (re.sub(r"\\([^u])", lambda found: "\n" if found[1] == "n" else found[1], text),),
    _base64,
)


def stolen(text: str, secret: str) -> list[str]:
    """What a thief finds of ``secret``: all of it, or one of its lines."""
    everything = undone(text)
    return [piece for piece in {secret, *secret.splitlines()} if any(piece in one for one in everything)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", SECRETS)
def test_control_a_thief_undoes_every_form(kind: str, form: str) -> None:
    """Negative control: what is written in a form is found."""
    assert stolen(f"before {FORMS[form](SECRETS[kind])} after", SECRETS[kind]), form


@pytest.mark.parametrize("kind", SECRETS)
def test_no_form_of_a_secret_is_in_the_log(kind: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Promise 10: neither what is sent (query, body, login) nor what is answered shows a secret, in any form, on the
    screen or in the file."""
    secret = SECRETS[kind]
    targets = [f"/login?password={write(secret)}" for write in (FORMS["percent"], FORMS["percent, form"])]
    body = json.dumps({"user": "admin", "password": secret}).encode()
    text = log_of(secret, capsys, tmp_path / "wire.log", targets, body)
    assert "POST /login?password=[redacted]" in text and text.count("[redacted]") > 2 * len(FORMS)
    assert [line for line in text.splitlines() if stolen(line, secret)] == []
    assert [part for part in re.split(r"(?m)^.*: $|: ", text) if "\n" in part and stolen(part, secret)] == []

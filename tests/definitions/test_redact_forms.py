"""Forms of a secret that one protocol or program alone writes, and secrets that a text holds only in part."""

from __future__ import annotations

import base64
import html
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

import pytest

from orchestrator.errors import DefinitionError
from orchestrator.family.secrets import MARK, Redactor, SecretStore
from orchestrator.model.inventory import SecretRef

FORMS: dict[str, tuple[str, Callable[[str], str]]] = {
    "several lines on one": ("first line\n  second line", lambda secret: " ".join(secret.split())),
    "several lines in an attribute": ("first line\nsecond line", lambda secret: quoteattr(secret)[1:-1]),
    "sub-delimiters kept": ("p@ss w&rd/x?", lambda secret: quote(secret, safe="!$&'()*+,;=:@")),
    "query of a URL": ("p@ss w&rd/x?", lambda secret: quote(secret, safe="!$&'()*+,;=:@/?")),
    "encodeURIComponent": ("(pass) w&rd!", lambda secret: quote(secret, safe="!'()*")),
    "both quotes as entities": ('it\'s "so" <x>', lambda secret: escape(secret, {'"': "&quot;", "'": "&apos;"})),
    "double quotes as entities": ('it\'s "so" <x>', lambda secret: escape(secret, {'"': "&quot;"})),
    "decimal entities": ('it\'s "so" <x>', lambda secret: html.escape(secret).replace("&#x27;", "&#39;")),
    "backslashes of a shell": ("it's $o <x>", lambda secret: "it\\'s\\ \\$o\\ \\<x\\>"),
    "base64 without padding": ("Hunter2", lambda secret: base64.b64encode(secret.encode()).decode().rstrip("=")),
}


def _redactor(*secrets: str) -> Redactor:
    redactor = Redactor()
    for secret in secrets:
        redactor.learn(secret)
    return redactor


@pytest.mark.parametrize("form", FORMS)
def test_no_character_of_it_is_left(form: str) -> None:
    """Law: a form that one program alone writes is replaced whole, like the others."""
    secret, written = FORMS[form]
    assert _redactor(secret).scrub(f"before {written(secret)} after") == f"before {MARK} after"


def test_secrets_that_overlap_are_one_mark() -> None:
    """Law: where the end of one secret is the beginning of another one, no rest of either is left."""
    assert _redactor("horse-4711", "4711-staple").scrub("a horse-4711-staple b") == f"a {MARK} b"


LONG = "word " * 40


def test_every_secret_is_known_at_a_cut() -> None:
    """Law: half of a secret at a cut is replaced, whichever secret was learned last, and however it was encoded."""
    redactor = _redactor("correct horse", "battery/staple")
    for half in ("correct ho", "battery/st", quote("battery/staple", safe="")[:12]):
        assert redactor.scrub(f"{LONG}{half}…") == f"{LONG}{MARK}…"


def test_half_a_secret_before_a_whole_one() -> None:
    """Law: a text that was cut in the middle of a secret, and has it whole further on, has neither."""
    text = f"{LONG}correct ho… then correct horse and the rest"
    assert _redactor("correct horse").scrub(text) == f"{LONG}{MARK}… then {MARK} and the rest"


def test_an_error_brings_nothing_of_the_file_along(tmp_path: Path) -> None:
    """Law: the decoder's own error holds what the file holds, so a report of ours does not lead to it."""
    path = tmp_path / "secret"
    path.write_bytes(b"Hunter2!\xff")
    path.chmod(0o600)
    with pytest.raises(DefinitionError) as caught:
        SecretStore().reveal(SecretRef(file=str(path)), what="password")
    assert caught.value.__cause__ is None and caught.value.__suppress_context__

"""Secrets: resolved once, remembered, and replaced in every form they take."""

from __future__ import annotations

import base64
import html
import json
import os
import re
import shlex
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from orchestrator.errors import DefinitionError
from orchestrator.family.secrets import MARK, Redactor, SecretStore
from orchestrator.model.inventory import SecretRef

NASTY = "pä ss/w+ö&r<d>\"'$`\\;%41"


def _redactor(*secrets: str) -> Redactor:
    redactor = Redactor()
    for secret in secrets:
        redactor.learn(secret)
    return redactor


def _basic(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


FORMS: dict[str, Callable[[str], str]] = {
    "plain": lambda secret: secret,
    "percent": lambda secret: quote(secret, safe=""),
    "percent, slash kept": quote,
    "percent, lower case": lambda secret: re.sub("%..", lambda found: found[0].lower(), quote(secret, safe="")),
    "form": quote_plus,
    "json": json.dumps,
    "json, not ascii": lambda secret: json.dumps(secret, ensure_ascii=False),
    "python": repr,
    "python, in an error": lambda secret: str(KeyError(secret)),
    "xml text": escape,
    "xml attribute": quoteattr,
    "html": html.escape,
    "shell": shlex.quote,
    "base64": _basic,
    "base64, url": lambda secret: base64.urlsafe_b64encode(secret.encode()).decode(),
    "basic header": lambda secret: "Authorization: Basic " + _basic(f"admin:{secret}"),
    "basic header, offset 1": lambda secret: _basic(f"admins:{secret}:x"),
    "basic header, offset 2": lambda secret: _basic(f"operator:{secret}and more"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("secret", ["Hunter2!", NASTY, "plainword", "0123456789", "ends with space "])
def test_every_form_is_replaced(form: str, secret: str) -> None:
    """Law: no encoding that a protocol or a text applies brings a secret past redaction."""
    text = f"before {FORMS[form](secret)} after"
    scrubbed = _redactor(secret).scrub(text)
    assert MARK in scrubbed
    assert scrubbed.startswith("before ")
    assert scrubbed.endswith(" after")
    assert secret not in scrubbed
    decoded = scrubbed.replace("before ", "").replace(" after", "").replace(MARK, "")
    assert len(decoded) <= len(text) - len("before  after") - len(secret) + 4


@given(st.text(min_size=4, max_size=12), st.text(max_size=12), st.text(max_size=12))
@example("aaaa", "aaa", "aa")
@example("acted", "red", "")
def test_a_secret_does_not_survive_in_any_text(secret: str, before: str, after: str) -> None:
    """Law: whatever stands around it, what is left of the text holds the secret no more."""
    scrubbed = _redactor(secret).scrub(before + secret + after)
    assert secret not in scrubbed.replace(MARK, "\0")


@given(st.lists(st.text(alphabet="ab1", min_size=4, max_size=9), min_size=1, max_size=4), st.text(alphabet="ab1 "))
def test_overlapping_secrets_leave_no_rest(secrets: list[str], text: str) -> None:
    """Law: of secrets that contain or overlap one another no character of any occurrence is left."""
    whole = text + "".join(secrets)
    covered = [False] * len(whole)
    for secret in secrets:
        for start in range(len(whole)):
            if whole.startswith(secret, start):
                covered[start : start + len(secret)] = [True] * len(secret)
    kept = "".join(character for character, hidden in zip(whole, covered, strict=True) if not hidden)
    assert _redactor(*secrets).scrub(whole).replace(MARK, "") == kept


def test_the_longest_secret_wins() -> None:
    """Law: a secret that contains another one is replaced whole."""
    assert _redactor("pass", "password", "password1").scrub("x password1 y pass z") == f"x {MARK} y {MARK} z"


def test_short_secrets_only_where_they_stand_alone() -> None:
    """Law: a secret of fewer than 4 characters does not tear words apart."""
    redactor = _redactor("abc", "7")
    assert (
        redactor.scrub("abc abcd xabc 'abc' a7 7 77 7,7") == f"{MARK} abcd xabc '{MARK}' a7 {MARK} 77 {MARK},{MARK}"
    )


def test_the_empty_text_is_no_secret() -> None:
    """Law: nothing to hide, nothing to replace."""
    assert _redactor("").scrub("all of this stays") == "all of this stays"
    assert Redactor().scrub("") == ""


@pytest.mark.parametrize("secret", ["redacted", "acted", "[redacted]", "[redacted]x", "cted]"])
def test_the_mark_survives_secrets_that_look_like_it(secret: str) -> None:
    """Law: scrubbing what is scrubbed changes nothing."""
    redactor = _redactor(secret)
    once = redactor.scrub(f"a {secret} b")
    assert once == f"a {MARK} b"
    assert redactor.scrub(once) == once


def test_data_is_scrubbed_at_any_depth() -> None:
    """Law: texts and keys of JSON-like data are scrubbed; its shape and its numbers stay."""
    data = {"Hunter2!": ["Hunter2!", {"a": ("x Hunter2! y", 1, None, True, 2.5)}], "n": 7, 8: "b"}
    expected = {MARK: [MARK, {"a": [f"x {MARK} y", 1, None, True, 2.5]}], "n": 7, 8: "b"}
    assert _redactor("Hunter2!").scrub_data(data) == expected


# --- where secrets come from -----------------------------------------------------------------------------


def _secret_file(folder: Path, content: bytes, mode: int = 0o600) -> Path:
    path = folder / "secret"
    path.write_bytes(content)
    path.chmod(mode)
    return path


def test_a_secret_from_the_environment() -> None:
    """Law: env is the name of a variable; what it holds is known to redaction from then on."""
    store = SecretStore(environment={"NY_PASSWORD": "Hunter2!"})
    assert store.redactor.scrub("Hunter2!") == "Hunter2!"
    assert store.reveal(SecretRef(env="NY_PASSWORD"), what="password") == "Hunter2!"
    assert store.redactor.scrub("Hunter2!") == MARK


def test_the_environment_of_the_process_is_the_default() -> None:
    """Law: without an injected environment the process's own is asked."""
    name = next(key for key, value in os.environ.items() if key.isidentifier() and value)
    assert SecretStore().reveal(SecretRef(env=name), what="x") == os.environ[name]


@pytest.mark.parametrize(
    ("content", "secret"),
    [
        (b"a b\n", "a b"),
        (b"ab", "ab"),
        (b"ab\n\n", "ab\n"),
        (b"ab\r\n", "ab"),
        (b" ab ", " ab "),
        ("ä".encode(), "ä"),
    ],
)
def test_a_secret_from_a_file_without_one_newline(tmp_path: Path, content: bytes, secret: str) -> None:
    """Law: one newline at the end belongs to the file, everything else to the secret."""
    path = _secret_file(tmp_path, content)
    assert SecretStore().reveal(SecretRef(file=str(path)), what="password") == secret
    assert SecretStore(folder=tmp_path).reveal(SecretRef(file="secret"), what="password") == secret


def test_an_inline_secret() -> None:
    """Law: an inline secret is usable, and known to redaction."""
    store = SecretStore()
    assert store.reveal(SecretRef.model_validate({"inline": "Hunter2!"}), what="password") == "Hunter2!"
    assert store.redactor.scrub("Hunter2!") == MARK


def test_a_prompt_is_asked_once_for_each_account() -> None:
    """Law: the same question is put once; another account is another question."""
    asked: list[str] = []

    def ask(what: str) -> str:
        asked.append(what)
        return f"answer {len(asked)}"

    store = SecretStore(ask)
    prompt = SecretRef(prompt=True)
    assert [store.reveal(prompt, what=what) for what in ("a", "b", "a")] == ["answer 1", "answer 2", "answer 1"]
    assert asked == ["a", "b"]


def test_two_threads_ask_one_question() -> None:
    """Law: devices that are opened at the same time do not talk over each other on the terminal."""
    asked: list[str] = []
    ready = threading.Barrier(4)
    answers: list[str] = []

    def ask(what: str) -> str:
        asked.append(what)
        return "Hunter2!"

    store = SecretStore(ask)

    def reveal() -> None:
        ready.wait()
        answers.append(store.reveal(SecretRef(prompt=True), what="password"))

    threads = [threading.Thread(target=reveal) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (asked, answers) == (["password"], ["Hunter2!"] * 4)


def test_a_file_is_read_once(tmp_path: Path) -> None:
    """Law: a reference means one secret for the whole run, even if its source changes meanwhile."""
    path = _secret_file(tmp_path, b"first")
    store, reference = SecretStore(), SecretRef(file=str(path))
    assert store.reveal(reference, what="a") == "first"
    path.write_bytes(b"second")
    assert store.reveal(reference, what="b") == "first"


@pytest.mark.parametrize(
    ("reference", "sentence", "hint"),
    [
        ({"env": "ABSENT"}, "the password is expected in the environment variable ABSENT, which is not set", ""),
        ({"env": "EMPTY"}, "the password is expected in the environment variable EMPTY, which is empty", ""),
        (
            {"env": "Hunter2 is here"},
            "`env` of the password is not the name of an environment variable",
            "such as NY_PASSWORD",
        ),
        ({"prompt": True}, "the password must be typed, but there is no terminal", "without a person"),
        ({"inline": ""}, "the password is empty", ""),
        ({"file": "absent"}, "the file of the password cannot be read: No such file or directory", ""),
        ({"file": "a\0b"}, "the file of the password cannot be read: a file cannot have this name", ""),
        ({"file": "."}, "the password must be in a regular file, but this is not a regular file", ""),
        ({"file": "empty"}, "the file of the password is empty", ""),
        ({"file": "newline"}, "the file of the password is empty", ""),
        ({"file": "binary"}, "the file of the password is not UTF-8 text", ""),
        ({"file": "huge"}, "the file of the password is larger than 64 KiB", ""),
        ({"file": "group"}, "the file of the password is open to other accounts", "chmod 600 "),
        ({"file": "others"}, "the file of the password is open to other accounts", "chmod 600 "),
        ({"file": "pipe"}, "the password must be in a regular file, but this is not a regular file", ""),
    ],
)
def test_secrets_that_are_not_to_be_had(tmp_path: Path, reference: dict[str, Any], sentence: str, hint: str) -> None:
    """Law: each failure is one sentence that shows no secret, with what to do next."""
    contents = {
        "empty": b"",
        "newline": b"\n",
        "binary": b"\xff",
        "huge": b"x" * 70_000,
        "group": b"x",
        "others": b"x",
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
        (tmp_path / name).chmod({"group": 0o640, "others": 0o604}.get(name, 0o600))
    os.mkfifo(tmp_path / "pipe", 0o600)
    store = SecretStore(environment={"EMPTY": ""}, folder=tmp_path)
    with pytest.raises(DefinitionError) as caught:
        store.reveal(SecretRef.model_validate(reference), what="password")
    assert sentence in str(caught.value)
    assert hint in caught.value.hint
    assert "Hunter2" not in f"{caught.value} {caught.value.hint}"
    assert caught.value.__cause__ is None


def test_an_empty_answer_is_refused() -> None:
    """Law: a return key hit by mistake is not a password, and is not remembered as one."""
    answers = iter(["", "Hunter2!"])
    store = SecretStore(lambda what: next(answers))
    with pytest.raises(DefinitionError, match="nothing was typed for the password"):
        store.reveal(SecretRef(prompt=True), what="password")
    assert store.reveal(SecretRef(prompt=True), what="password") == "Hunter2!"


def test_the_chmod_hint_can_be_pasted(tmp_path: Path) -> None:
    """Law: a hint that is a command is a safe command."""
    folder = tmp_path / "it's; here"
    folder.mkdir()
    path = _secret_file(folder, b"x", 0o644)
    with pytest.raises(DefinitionError) as caught:
        SecretStore().reveal(SecretRef(file=str(path)), what="x")
    assert shlex.split(caught.value.hint) == ["chmod", "600", str(path)]


def test_nothing_prints_a_secret() -> None:
    """Law: neither the store nor the redactor shows what it knows."""
    store = SecretStore(environment={"A": "Hunter2!"})
    store.reveal(SecretRef(env="A"), what="password")
    assert f"{store!r} {store.redactor!r}" == "SecretStore(1 known) Redactor(1 secrets)"


def test_only_a_reference_is_resolved() -> None:
    """Law: a text is not taken for a reference, and is not repeated in the error."""
    with pytest.raises(TypeError) as caught:
        SecretStore().reveal("Hunter2!", what="password")
    assert str(caught.value) == "the reference to a secret must be a SecretRef, not a str"


@pytest.mark.parametrize("size", range(5, 13))
def test_half_a_secret_where_a_text_was_cut(size: int) -> None:
    """Law: a long text that ends in the beginning of a secret, or goes on after an ellipsis with its end, has none."""
    redactor = Redactor()
    redactor.learn("correct horse")
    long = "word " * 60
    begun, ended = "correct horse"[:size], "correct horse"[-size:]
    for text in (long + begun, f"{long}{begun}… (code 7)", f"{long} […] {ended} {long}"):
        assert begun.strip() in text or ended.strip() in text
        assert re.findall("corre|horse", redactor.scrub(text)) == []


@given(
    st.text(alphabet="ab1 ", min_size=5, max_size=9),
    st.lists(st.sampled_from(["…", " […] ", "a", "b", "1", "ab1a", " ", "x"]), max_size=40),
)
@example("aaaaa", ["a"] * 20 + ["…"] + ["a"] * 20)
@example("ab1ab", ["ab1a", "…", "b", "1", "ab1a", " ", "…"])
def test_no_half_is_left_at_any_cut(secret: str, pieces: list[str]) -> None:
    """Law: wherever a text was cut, what stands before it does not end with a beginning of the secret, and what stands
    behind it does not begin with an end of it, of four characters or more."""
    scrubbed = _redactor(secret).scrub("x" * 180 + "".join(pieces))
    for size in range(4, len(secret)):
        before = rf"(?<!\s){re.escape(secret[:size])}(?<!\s)\s*(?:\[?…|\Z)"
        assert not re.search(before, scrubbed), (scrubbed, secret[:size])
        if not secret[-size].isspace():
            assert not re.search(rf"…\]?\s*{re.escape(secret[-size:])}", scrubbed), (scrubbed, secret[-size:])


def steps(redactor: Redactor, text: str) -> int:
    """How many calls it takes to scrub ``text``, those into Python's own library too."""
    counted = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        redactor.scrub(text)
    finally:
        sys.setprofile(None)
    return counted


@pytest.mark.parametrize("text", ["…", " […] ", "C4nary/+Tweet-5ongbir…", "…+Tweet-5ongbird", "C4na", " ", "x"])
def test_many_cuts_are_one_pass(text: str) -> None:
    """Law: how long it takes grows with the text and not with the number of secrets and their forms beside it: no more
    than a few steps for each character, whatever a device or a command prints."""
    redactor = _redactor(NASTY, "C4nary/+Tweet-5ongbird", "a b  c'd\"e", "plainword")
    length = 4_000
    assert steps(redactor, text * (length // len(text))) <= 12 * length


# Three bytes that base64 writes with its two signs, which the URL-safe alphabet has otherwise (RFC 4648, section 5).
@pytest.mark.parametrize("secret", ["??>>??>>??", "~~>>~~??~~>>", "\u00fb\u00ff\u00fb\u00ff\u00fb\u00ff"])
@pytest.mark.parametrize("before", ["", "a", "ab", "admin:"])
def test_both_alphabets_of_base64(secret: str, before: str) -> None:
    """Law: a secret is known in the URL-safe alphabet too, alone and inside a longer text, where the two differ."""
    raw = f"{before}{secret}{before}".encode()
    plain, safe = base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode()
    assert plain != safe
    for encoded in (plain, safe, plain.rstrip("="), safe.rstrip("=")):
        scrubbed = _redactor(secret).scrub(f"Authorization: {encoded} end")
        assert MARK in scrubbed
        left = scrubbed.removeprefix("Authorization: ").removesuffix(" end").replace(MARK, "")
        assert len(left) <= 4 * len(before) + 4


def test_a_short_text_is_not_cut() -> None:
    """Law: an ordinary sentence keeps its last word, though a secret begins like it."""
    redactor = Redactor()
    redactor.learn("boundless")
    assert redactor.scrub("the bridge is bound") == "the bridge is bound"

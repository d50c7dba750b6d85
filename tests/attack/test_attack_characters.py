"""Characters that steer a terminal or hide in a text: spelled out wherever they are read, refused from people."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from orchestrator.characters import STEERING, json_escaped, spelled_out
from orchestrator.cli.render.terminal import presentable
from tests.cli.shell import VPN, Shell

# CSI of eight bits, a switch of direction, no width, a line separator, an isolate, a byte order mark, a tag, delete.
EVIL = ("\x9b31m", "\u202e", "\u200b", "\u2028", "\u2066", "\ufeff", "\U000e0041", "\x7f")
# What people write: blanks that do not break, accents, other scripts, signs.
GOOD = "à la\u00a0carte, Zürich, Ελλάδα, 東京, עברית, 😀, 100 €"


@pytest.mark.parametrize("evil", EVIL)
def test_they_are_spelled_out(evil: str) -> None:
    """Law: nothing that is shown has such a character, and what it was can be read."""
    shown = presentable(f"a{evil}b")
    assert not STEERING.search(shown)
    assert shown == spelled_out(f"a{evil}b") == f"a{evil[0].encode('unicode_escape').decode()}{evil[1:]}b"


def test_what_people_write_is_left_alone() -> None:
    """Law: no other character is touched."""
    assert presentable(GOOD) == json_escaped(GOOD) == GOOD


@pytest.mark.parametrize("evil", [*EVIL, GOOD, "\x00\n\x1b"])
def test_json_says_the_same_in_other_words(evil: str) -> None:
    """Law: a JSON document without these characters has the same value as the one with them."""
    value = {evil: [f"x{evil}y", 1]}
    for indent in (None, 2):
        text = json_escaped(json.dumps(value, ensure_ascii=False, indent=indent))
        assert json.loads(text) == value
        assert not STEERING.search(text.replace("\n", ""))


# --- from people ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ("controlled", "--vpn", VPN, "--yes", "--approve-by", "1", "--break-glass", "EVIL"),
        ("uncontrolled", "--vpn", VPN, "--site", "ny", "--yes", "--attest", "EVIL"),
        ("uncontrolled", "--vpn", VPN, "--site", "ny", "--yes", "--reason", "EVIL"),
        ("failback", "--vpn", VPN, "--yes", "--xa", "stop", "--accept-risk", "EVIL"),
        ("abort", "--reason", "EVIL"),
        ("decide", "stop", "--gate", "xa", "--reason", "EVIL"),
        ("approve", "--yes", "--reason", "EVIL"),
        ("approve", "--break-glass", "EVIL"),
        ("guard", "--site", "ny", "--reason", "EVIL"),
    ],
)
@pytest.mark.parametrize("evil", ["fine\u202eenif", "a\x9bb", "a\u200bb", "a\nb", "a\x1b[2Jb"])
def test_no_reason_has_them(shell: Shell, words: tuple[str, ...], evil: str) -> None:
    """Law: a text that a person gives for the record is refused where it has such a character: exit code 2, nothing is
    recorded, and the sentence shows what it was."""
    ended = shell(*(evil if word == "EVIL" else word for word in words))
    assert (ended.code, spelled_out(evil) in ended.complaint) == (2, True), ended.err
    assert shell("runs", "list").out == ""


def test_no_name_of_a_person_has_them(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Law: nor does the name under which somebody acts."""
    monkeypatch.setenv("FAILOVER_USER", "ceo\u202e (approved)")
    ended = shell.move()
    assert (ended.code, ended.complaint.startswith("FAILOVER_USER has a character")) == (2, True)
    assert shell("runs", "list").out == ""


@pytest.mark.parametrize("escape", ["\\u202e", "\\x9b", "\\u200b", "\\u2028"])
def test_no_text_of_a_file_has_them(shell: Shell, escape: str) -> None:
    """Law: nor does a text of a file, such as the reason of a decision or the title of a site; its line is named."""
    decisions = f'decisions:\n  - {{xid: 01-02-03, choice: commit, reason: "as a{escape}b"}}\n'
    ended = shell("controlled", "--vpn", VPN, "--yes", "--xa", str(shell.write("xa.yaml", decisions)))
    assert (ended.code, "xa.yaml:2: a text has a control character" in ended.complaint) == (2, True)


# Names that no boundary to a device lets through.
_UNSEEN = (
    "a\u202eb",
    "a\u200bb",
    "a\u2028b",
    "a\u00a0b",
    "\u00ada",
    "a\ufeff",
    "a\u3000b",
    "a ",
    " a",
    "a\u0378b",
    "\ue000",
)


@pytest.mark.parametrize("name", _UNSEEN)
def test_names_are_tested_before_the_night(shell: Shell, name: str) -> None:
    """Law: a service's name that a device would be refused for is refused by `inventory lint`, with its line."""
    ended = shell("inventory", "lint", str(shell.inventory(services=[name])))
    assert (ended.code, "inventory.yaml:1: error: " in ended.out) == (2, True), ended.out


def test_a_name_that_would_be_an_option(shell: Shell) -> None:
    """Law: a name that an own command would take for an option is an error of the inventory, where a command gets it."""
    own = {
        "adapter": "local",
        "options": {"commands": {"off": {"argv": ["/bin/off", "{service}"], "per": "service"}}},
    }
    path = shell.inventory(services=["-rf"])
    plain = json.loads(path.read_text())
    assert shell("inventory", "lint", str(path)).code == 0
    plain["sites"]["ny"]["also"] = [own]
    path.write_text(json.dumps(plain))
    ended = shell("inventory", "lint", str(path))
    assert (ended.code, "service-is-option" in ended.out) == (2, True), ended.out


CONFIGURATION = """\
<AMPSConfig><Name>evil&#x9b;31mRED&#x202e;</Name><Group>g&#x200b;</Group>
<Replication><Destination><Name>d</Name><Group>B&#x9b;</Group><SyncType>sync</SyncType>
<Topic><Name>t&#x2028;</Name><MessageType>json</MessageType></Topic>
<Transport><InetAddr>b:1</InetAddr><Type>amps-replication</Type></Transport></Destination></Replication></AMPSConfig>
"""


@pytest.mark.parametrize("form", ["table", "json", "sarif", "mermaid", "svg"])
def test_every_form_of_a_validation(shell: Shell, form: str) -> None:
    """Law: names of a configuration leave as text, in each form that is printed; JSON and SVG stay well-formed."""
    path = shell.write("evil.xml", CONFIGURATION)
    out = shell("validate", str(path), "--format", form).out
    assert "RED" in out
    assert not STEERING.search(out.replace("\n", ""))
    if form in ("json", "sarif"):
        assert "evil\x9b31mRED\u202e" in json.dumps(json.loads(out), ensure_ascii=False)
    if form == "svg":
        assert "evil\\x9b31mRED" in "".join(ElementTree.fromstring(out).itertext())

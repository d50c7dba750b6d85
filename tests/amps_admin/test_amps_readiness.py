"""``failover check`` of a pair of AMPS instances: what can be wrong is found under its code, and nothing else is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from orchestrator.clock import VirtualClock
from orchestrator.documents.loader import load_inventory
from orchestrator.model.findings import Level
from simulator.http.server import Outgoing
from tests.amps_admin.desk import Desk
from tests.amps_admin.instance import answer, told
from tests.amps_admin.pair import NAMES, AmpsPair


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A healthy pair of AMPS instances with sync links, and a shell to ask about it."""
    for name in ("STATE", "JOURNAL", "INVENTORY", "TRACEBACK"):
        monkeypatch.delenv(f"FAILOVER_{name}", raising=False)
    monkeypatch.setenv("FAILOVER_USER", "ann")
    return Desk(tmp_path, capsys)


def link(site: str, **changes: str) -> Callable[[AmpsPair], None]:
    return lambda pair: pair.link(site, **changes)


def answers(site: str, target: str, status: int, body: object = "") -> Callable[[AmpsPair], None]:
    return lambda pair: pair.instances[site].answers.update({target: answer(status, body)})


def doors(state: str, *sites: str) -> Callable[[AmpsPair], None]:
    def change(pair: AmpsPair) -> None:
        for site in sites:
            pair.instances[site].one("transports")["is_enabled"] = state

    return change


def half_open(pair: AmpsPair) -> None:
    pair.ny.now["transports"].append({"id": "3", "name": "ws", "type": "tcp", "is_enabled": "0"})


def empty(*sites: str) -> Callable[[AmpsPair], None]:
    def change(pair: AmpsPair) -> None:
        for site in sites:
            one = pair.instances[site]
            pair.start(site, empty=True, bootstrap=True)
            one.one("transports")["is_enabled"] = "1"
            one.one("replication")["is_connected"] = "1"

    return change


def full(pair: AmpsPair) -> None:
    stamps = {"min_timestamp": "20250101T000000Z", "max_timestamp": "20250101T010000Z"}
    pair.nj.now["transaction_log"] = {"journals": [stamps] * 9}


def unlike(**how: str) -> Callable[[AmpsPair], None]:
    """One end's configuration differs, in a way that AMPS would refuse, or lets pass because it is excluded."""

    def change(pair: AmpsPair) -> None:
        config = pair.nj.config
        for old, new in how.items():
            config = config.replace(CHANGED[old], new)
        answers("nj", "/amps/instance/config.xml", 200, config)(pair)

    return change


CHANGED = {
    "log": "<Topic><Name>.*</Name><MessageType>json</MessageType></Topic>\n  </TransactionLog>",
    "name": "amps-2",
}
CHECK = "/amps/administrator/authorization/entitlement/transport/amps-admin/check.json?path="
CASES: Mapping[str, tuple[Level, Callable[[AmpsPair], None]]] = {
    "nobody-serves": (Level.ERROR, doors("0", "ny", "nj")),
    "clients-in-part": (Level.WARNING, half_open),
    "clients-unknown": (Level.UNKNOWN, answers("ny", "/amps/instance/transports.json", 500)),
    "link-not-connected": (Level.ERROR, link("ny", is_connected="0")),
    "link-downgraded": (Level.ERROR, link("nj", replication_type="async")),
    "links-unknown": (Level.UNKNOWN, answers("ny", "/amps/instance/replication.json", 200, told())),
    "link-behind": (Level.WARNING, link("ny", seconds_behind="12")),
    "lag-unknown": (Level.UNKNOWN, link("ny", seconds_behind="")),
    "proxied-transfer-on": (Level.ERROR, lambda pair: pair.nj.one("queues").update(proxied_transfer="enabled")),
    "queues-unknown": (Level.UNKNOWN, answers("nj", "/amps/instance/queues.json", 200, told())),
    "journal-headroom": (Level.WARNING, full),
    "journals-unknown": (Level.UNKNOWN, answers("nj", "/amps/instance/transaction_log.json", 200, told())),
    "both-wait": (Level.ERROR, empty("ny", "nj")),
    "waits-for-bootstrap": (Level.ERROR, empty("nj")),
    "configuration-refused": (Level.ERROR, unlike(log="</TransactionLog>")),
    "configuration-unknown": (Level.UNKNOWN, answers("nj", "/amps/instance/config.xml", 404)),
    "same-instance": (Level.ERROR, lambda pair: pair.nj.now.update(name="amps-1")),
    "releases-differ": (Level.WARNING, lambda pair: pair.nj.now.update(version="5.2.4.1")),
    "instances-unknown": (Level.UNKNOWN, lambda pair: pair.nj.now.update(version="")),
    "action-denied": (
        Level.ERROR,
        answers("ny", f"{CHECK}/amps/administrator/replication/r1/downgrade", 200, "false"),
    ),
    "access-unknown": (Level.UNKNOWN, answers("ny", f"{CHECK}/amps/administrator/replication/r1/downgrade", 404)),
}
# What comes with it, for it hides more than one thing.
ALONG: Mapping[str, set[str]] = {
    "links-unknown": {"lag-unknown"},
    "both-wait": {"journals-unknown", "configuration-risk"},
    "waits-for-bootstrap": {"journals-unknown"},
    "configuration-unknown": {"journals-unknown"},
    "clients-unknown": {"access-unknown"},
}


def test_a_healthy_pair_is_good(desk: Desk) -> None:
    """Nothing is found, the exit code is 0, and the table says so."""
    assert desk.codes() == {}
    ended = desk.run("check")
    assert ended.code == 0
    assert "ny open, nj open" in ended.out


@pytest.mark.parametrize("code", CASES)
def test_what_is_wrong_has_its_code(desk: Desk, code: str) -> None:
    """Under its level; and besides only what follows from it."""
    level, change = CASES[code]
    change(desk.pair)
    found = desk.codes()
    assert found.get(code) == level
    assert set(found) == {code} | ALONG.get(code, set())


def test_how_the_inventory_takes_the_link(desk: Desk) -> None:
    """Sync links that it does not claim are a warning: their loss would be treated as one that gives up messages."""
    desk.inventory("async")
    assert desk.codes() == {"link-unclaimed": "warning"}


def test_async_links(tmp_path: Path, desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    """By configuration they are a note; where the inventory says sync, an error."""
    (tmp_path / "async").mkdir()
    other = Desk(tmp_path / "async", capsys, sync="async")
    found = other.codes()
    assert found["link-async"] == "note"
    other.inventory("sync")
    assert other.codes()["link-differs"] == "error"


def test_an_instance_that_is_away(desk: Desk) -> None:
    """Unknown is never ok: the site is an error, and no check of the service passes for want of an answer."""
    desk.pair.away.add("nj")
    found = desk.codes()
    assert found["site-unreachable"] == "error"
    assert found["not-read"] == "unknown"


def test_the_live_configurations_are_validated(desk: Desk) -> None:
    """``validate --from-inventory``: the same findings as of files; an instance that is away is not left out."""
    assert desk.run("validate", "--from-inventory", "--nine").code == 0
    unlike(log="</TransactionLog>")(desk.pair)
    ended = desk.run("validate", "--from-inventory", "--json")
    assert ended.code == 4
    assert "txlog" in {one["check"] for one in json.loads(ended.out)["findings"]}
    desk.pair.away.add("nj")
    ended = desk.run("validate", "--from-inventory")
    assert (ended.code, "1 of 2 instances were not fetched" in ended.err) == (2, True)


def test_a_dry_run_sends_nothing(desk: Desk) -> None:
    """It shows the requests, with their place for ids, and none of them arrives."""
    ended = desk.run("controlled", "--service", "orders", "--dry-run")
    assert ended.code == 0, ended.err
    assert "amps/controlled" in ended.out
    assert "SEND      amps-1> GET /amps/administrator/transports/<client transport>/disable" in ended.out
    assert desk.pair.heard == []


def test_the_command_line_moves_them(desk: Desk) -> None:
    """From the inventory alone: the family, the kind of the link, and with it the runbook."""
    desk.pair.at(120, lambda pair: pair.ny.one("queues").update(owned="0"))
    assert desk.run("controlled", "--service", "orders", "--yes").code == 0
    assert desk.pair.heard == ["ny transports/1/disable", "nj replication/r1/downgrade"]
    desk.pair.lose("ny")
    ended = desk.run("uncontrolled", "--service", "orders", "--site", "ny", "--yes")
    assert (ended.code, "an operator must attest" in ended.err) == (2, True)
    desk.inventory("async")
    ended = desk.run("uncontrolled", "--service", "orders", "--site", "ny", "--yes", "--attest", "it is off")
    assert (ended.code, "--accept-loss" in ended.err) == (2, True)
    ended = desk.run("uncontrolled", "--service", "orders", "--site", "ny", "--isolated")
    assert (ended.code, "--isolated is an option of solace, but this pair is of the family amps" in ended.err) == (
        2,
        True,
    )


@pytest.mark.parametrize(
    ("change", "code", "verdict"),
    [
        (lambda pair: None, 0, "ok"),
        (link("nj", replication_type="async"), 4, "link downgraded: the mate is not a fail-over target"),
        (link("ny", is_connected="0"), 4, "link not connected"),
        (doors("0", "ny", "nj"), 4, "NO INSTANCE LETS CLIENTS IN"),
        (doors("", "ny"), 4, "unknown: ny does not report whether it serves"),
        (lambda pair: pair.away.add("nj"), 4, "unknown: amps-2"),
    ],
)
def test_how_it_stands(desk: Desk, change: Callable[[AmpsPair], None], code: int, verdict: str) -> None:
    """``failover status``: ok only if somebody serves and either could take over from the other."""
    change(desk.pair)
    desk.pair.clock.advance(10.0)
    ended = desk.run("status")
    assert (ended.code, verdict in ended.out) == (code, True), ended.out
    [row] = desk.run("status", "--json").values[0]["services"]
    assert row["verdict"].startswith(verdict)


def test_the_page_has_every_code() -> None:
    """docs/reference/readiness.md has each code of AMPS once with its level."""
    page = (Path(__file__).parents[2] / "docs/reference/readiness.md").read_text(encoding="utf-8")
    [table] = re.findall(r"^Of each service of AMPS.*?(?=^Of each site)", page, re.M | re.S)
    told_codes = dict(re.findall(r"^\| `([a-z-]+)` \| (error|warning|note|unknown) \|", table, re.M))
    others = {
        "link-differs": "error",
        "link-unclaimed": "warning",
        "link-async": "note",
        "bootstrap-unknown": "unknown",
        "configuration-risk": "warning",
        "configuration-undecided": "warning",
    }
    assert told_codes == {code: str(level) for code, (level, _) in CASES.items()} | others


def test_the_inventory_of_the_tests_loads(desk: Desk) -> None:
    """The control: what is checked above is an inventory as an operator writes it."""
    inventory, findings = load_inventory(desk.folder / "amps.yaml")
    assert set(inventory.sites) == set(NAMES)
    assert [one for one in findings if one.level is Level.ERROR] == []
    assert isinstance(desk.pair.clock, VirtualClock)


@pytest.mark.parametrize("header", ["", "Negotiate"])
def test_a_refused_login_is_told_once(desk: Desk, header: str) -> None:
    """Law: what keeps a whole site from being read is reported once, and what it hides is one more finding; the way to
    log in that AMPS asks for is named."""
    headers = {"WWW-Authenticate": header} if header else {}
    desk.pair.ny.handle = lambda incoming: Outgoing(401, b"no", headers=headers)  # type: ignore[method-assign]
    ended = desk.run("check")
    assert (ended.code, ended.out.count("HTTP 401")) == (4, 1)
    assert set(desk.codes()) == {"login-refused", "not-read"}
    assert ("Negotiate" in ended.out) is bool(header)


def test_a_site_that_is_away_is_told_once(desk: Desk) -> None:
    """Law: the same of one that does not answer."""
    desk.pair.away.add("ny")
    assert set(desk.codes()) == {"site-unreachable", "not-read"}

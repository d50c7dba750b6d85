"""A family from a folder of its own goes through every command, and no file of the product knows it."""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.families.installed import Ledgers

pytestmark = pytest.mark.realtime


@pytest.fixture
def ledgers(tmp_path: Path) -> Ledgers:
    """The pair, not yet replicated."""
    return Ledgers.install(tmp_path)


@pytest.fixture
def replicated(ledgers: Ledgers) -> Iterator[Ledgers]:
    """The pair, with its replication running."""
    process = ledgers.replicate()
    try:
        yield ledgers
    finally:
        process.kill()
        process.wait()


def test_its_runbook_is_found_and_checked(ledgers: Ledgers) -> None:
    """Its runbooks are listed beside those of the product, and lint knows its readings, items and actions."""
    code, text = ledgers.run("runbook", "list")
    assert code == 0
    assert "ledger/controlled  Planned switch of a ledger" in text
    code, text = ledgers.run("runbook", "lint", "ledger/controlled")
    assert (code, "error" in text) == (0, False), text
    assert "explored " in text
    broken = ledgers.folder / "broken.yaml"
    whole = (ledgers.site / "runbooks/controlled.yaml").read_text()
    broken.write_text(whole.replace("where: {open: true}", "where: {opne: true}"))
    code, text = ledgers.run("runbook", "lint", str(broken), "--adapter", "ledger-files")
    assert code == 4
    assert "an item of batches has no field 'opne' (did you mean open?" in text


def test_its_runbook_is_explored(ledgers: Ledgers) -> None:
    """Every way through it is walked on a pair made from its facets: the shipped one keeps the promises, and one without
    a drain breaks one, with the story in the family's readings."""
    code, text = ledgers.run("runbook", "explore", "ledger/controlled")
    assert code == 0, text
    assert "no promise is broken, there is no dead end, and every end has a name" in text
    assert "if these commands do not change a value that is read: close_batch" in text
    whole = (ledgers.site / "runbooks/controlled.yaml").read_text()
    drain = whole[whole.index("  - id: drain") : whole.index("  - id: open")]
    again = whole[whole.index("    reconfirm:") : whole.index("    do: {on: target")]
    broken = ledgers.folder / "broken.yaml"
    broken.write_text(whole.replace(drain, "").replace(again, ""))
    code, text = ledgers.run("runbook", "explore", str(broken), "--disturbances", "0")
    assert code == 4, text
    assert "[promoted-undrained] the shortest way to this problem:" in text
    assert "read source ledger (writable, linked, rows 100" in text


def test_it_is_read_by_its_facets(replicated: Ledgers) -> None:
    """Status, check, and the dry run show who serves, the link, and the backlog in the family's own unit."""
    while replicated.read("nj")["rows"] < 300:
        time.sleep(0.02)
    code, text = replicated.run("status")
    assert code == 0
    assert re.search(r"orders +ny +yes +up +0 rows +- +ok", text)
    code, text = replicated.run("check")
    assert code == 0
    assert "READY: 1 of 1 service of books could be moved now" in text
    before = replicated.read("ny")["writable"]
    code, text = replicated.run("controlled", "--vpn", "orders", "--dry-run")
    assert code == 0
    assert "SEND      ny1> orders.json: state=no" in text
    assert "decided?  ny1> orders.json: batch=b1" in text
    assert "0 rows in the queue now" in text
    assert replicated.read("ny")["writable"] is before


@pytest.mark.parametrize(
    ("writable", "word"),
    [((True, True), "BOTH ACTIVE"), ((False, False), "no active site"), ((False, True), "200 rows left at ny")],
)
def test_what_is_wrong_with_it(ledgers: Ledgers, writable: tuple[bool, bool], word: str) -> None:
    """Two sites that serve, none, and rows that only the idle one has are seen without a word of the family."""
    ledgers.write("ny", writable=writable[0], rows=300, acknowledged=100, batches=[], linked_at=time.time() + 60)
    ledgers.write("nj", writable=writable[1], rows=100, acknowledged=None, batches=[], linked_at=time.time() + 60)
    code, text = ledgers.run("status")
    assert code == 4
    assert word in text
    code, text = ledgers.run("check")
    assert code == 4
    assert f"error: orders: {word}" in text


def test_it_is_moved(replicated: Ledgers) -> None:
    """A controlled move drains, opens the mate, works through the family's own items, and reports in its unit."""
    code, text = replicated.run("controlled", "--vpn", "orders", "--yes", "--json")
    assert code == 0, text
    result = json.loads(
        text.splitlines()[-2]
        if text.splitlines()[-1].startswith("connecting")
        else next(line for line in reversed(text.splitlines()) if line.startswith('{"result"'))
    )["result"]
    [lane] = result["services"] if "services" in result else result["lanes"]
    assert lane["outcome"] == "done"
    assert (replicated.read("ny")["writable"], replicated.read("nj")["writable"]) == (False, True)
    assert replicated.read("nj")["rows"] == 300
    assert [one["open"] for one in replicated.read("ny")["batches"]] == [False]
    code, text = replicated.run("runs", "show")
    assert code == 0
    assert "orders: done" in text
    assert "rows drained" in text
    assert "no active site for" in text


def test_it_is_killed_and_resumed(ledgers: Ledgers) -> None:
    """A move that is killed in the drain is resumed: no row is lost, and the source is not opened again."""
    ledgers.write("ny", writable=True, rows=300, acknowledged=100, batches=[], linked_at=time.time() + 60)
    ledgers.write("nj", writable=False, rows=100, acknowledged=None, batches=[], linked_at=time.time() + 60)
    process = ledgers.start(["controlled", "--vpn", "orders", "--yes", "--json"])
    assert process.stdout is not None
    for line in process.stdout:
        if '"step.started"' in line and '"drain"' in line:
            break
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert (ledgers.read("ny")["writable"], ledgers.read("nj")["writable"]) == (False, False)
    code, text = ledgers.run("status")
    assert code == 4
    [run] = set(re.findall(r"failover resume (\S+?)`", text))
    replication = ledgers.replicate()
    try:
        code, text = ledgers.run("resume", run)
    finally:
        replication.kill()
        replication.wait()
    assert code == 0, text
    assert ledgers.read("nj")["rows"] == 300
    assert (ledgers.read("ny")["writable"], ledgers.read("nj")["writable"]) == (False, True)


def test_its_record_is_read_without_it(replicated: Ledgers) -> None:
    """Where the family is not installed, the record of its run still folds, shows and verifies; its pair is unknown."""
    code, _ = replicated.run("controlled", "--vpn", "orders", "--yes")
    assert code == 0
    code, text = replicated.run("runs", "show", with_family=False)
    assert code == 0
    assert "orders: done" in text
    code, text = replicated.run("runs", "verify", with_family=False)
    assert code == 0, text
    code, text = replicated.run("status", with_family=False)
    assert (code, "no adapter is called 'ledger-files'" in text) == (2, True)


def test_it_is_watched(replicated: Ledgers) -> None:
    """A watch shows both ends in the family's words until it is stopped."""
    process = replicated.start(["watch", "--vpn", "orders", "--interval", "1s"])
    assert process.stdout is not None
    line = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert re.search(r"orders: .*ny serves, link up, \d+ rows? queued; nj does not serve, link up", line)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("guard", "--site", "ny", "--yes"), "the family ledger does not offer guard"),
        (("rehearse", "controlled", "--vpn", "orders"), "the family ledger does not offer a simulation"),
        (("simulate", "--kind", "ledger/controlled"), "the family ledger does not offer a simulation"),
        (("repair", "--vpn", "orders", "--site", "ny", "--yes"), "the family ledger does not offer repair"),
        (("watch", "--vpn", "orders", "--suspend-at", "80"), "the family ledger does not offer --suspend-at"),
        (("failback", "--vpn", "orders", "--site", "nj", "--yes"), "the family ledger ships no runbook 'failback'"),
        (("uncontrolled", "--vpn", "orders", "--site", "ny", "--yes"), "ships no runbook 'uncontrolled'"),
        (("restore", "--vpn", "orders", "--site", "ny", "--yes"), "ships no runbook 'restore'"),
    ],
)
def test_what_it_does_not_offer_is_said(ledgers: Ledgers, words: tuple[str, ...], sentence: str) -> None:
    """One sentence and exit code 2; no command takes it for another family, and nothing is changed."""
    before = ledgers.read("ny"), ledgers.read("nj")
    code, text = ledgers.run(*words)
    assert (code, sentence in text) == (2, True), text
    assert "Traceback" not in text
    assert (ledgers.read("ny"), ledgers.read("nj")) == before


def test_one_that_cannot_be_imported_is_in_no_other_one_s_way(ledgers: Ledgers) -> None:
    """A broken distribution is named where it is used, and the other families work."""
    (ledgers.site / "ledger.py").write_text("raise RuntimeError('cannot work here')\n")
    code, text = ledgers.run("runbook", "list")
    assert (code, "ledger/" in text, "solace/controlled" in text) == (0, False, True)
    code, text = ledgers.run("status")
    assert code == 2
    assert "cannot work here" in text

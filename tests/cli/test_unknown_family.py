"""A pair of a family that this program does not know: every command refuses it in a sentence, or says unknown.

The pair is of two databases, moved by commands of the operator's own. None of it is a message VPN.
"""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint

import pytest

from adapters.mock.adapter import MockAdapter
from orchestrator.family.registry import GROUP, Registry
from tests.cli.shell import Ended, Shell

OWN = """\
runbook: mariadb/switch
summary: A planned switch of a database.
steps:
  - id: promote
    title: The mate becomes writable
    do: {on: target, action: ensure, command: read-write}
    leaves: the mate is writable
  - id: stop
    title: The source becomes read-only
    do: {on: source, action: ensure, command: read-only}
    leaves: the source is read-only
"""


@pytest.fixture
def pair(shell: Shell) -> str:
    """The inventory of the databases."""
    commands = {
        name: {"argv": ["true"], "check": ["true"], "idempotent": True} for name in ("read-only", "read-write")
    }
    sites = {
        name: {
            "adapter": "local",
            "devices": [{"name": f"{name}-1", "address": f"{name}.example"}],
            "options": {"commands": commands},
        }
        for name in ("a", "b")
    }
    pairs = [{"name": "db", "sites": ["a", "b"], "services": ["app"]}]
    return str(shell.write("pair.yaml", json.dumps({"sites": sites, "pairs": pairs})))


@pytest.fixture
def own(shell: Shell) -> str:
    """A runbook of commands alone, in the wrong order."""
    return str(shell.write("own.yaml", OWN))


REFUSED = (
    ("watch", "--all"),
    ("guard", "--site", "a", "--yes"),
    ("controlled", "--all", "--yes"),
    ("uncontrolled", "--all", "--site", "a", "--yes", "--attest", "it is off"),
    ("restore", "--all", "--site", "a", "--yes"),
    ("failback", "--all", "--site", "a", "--yes"),
    *(("rehearse", kind, "--all", "--yes") for kind in ("controlled", "uncontrolled", "restore", "failback")),
)


@pytest.mark.parametrize("typed", REFUSED, ids=" ".join)
def test_what_is_refused(shell: Shell, pair: str, typed: tuple[str, ...]) -> None:
    """Law (promise 18): a command that has nothing to go by for a family says so, before anything is read or changed:
    exit code 2. It plays no other family's pair, and leaves no run."""
    ended = shell(*typed, "--inventory", pair)
    assert ended.code == 2
    assert "this program does not know what kind of service " in ended.complaint
    assert ended.hint
    assert shell("runs", "list", "--json").values == []


@pytest.mark.parametrize("as_json", [True, False])
@pytest.mark.parametrize("command", ["status", "check"])
def test_what_is_unknown(shell: Shell, pair: str, command: str, as_json: bool) -> None:
    """Law (promise 18): what only reads shows the pair as unknown, with the reason, and nothing of another family: exit
    code 4, and one line of it."""
    ended = shell(command, "--inventory", pair, *(["--json"] if as_json else []))
    assert ended.code == 4
    assert "what kind of service" in ended.out
    assert "unknown" in ended.out
    for word in ("mate", "bridge is", "config-sync", "VPN"):
        assert word not in ended.out.replace("mate bound", "")


def test_a_check_of_it_is_never_good(shell: Shell, pair: str) -> None:
    """Law: one finding says that nothing was checked; what is kept of it is no good check."""
    [found] = shell("check", "--inventory", pair, "--json").values[0]["pairs"]
    assert [(one["code"], one["level"]) for one in found["findings"]] == [("family-unknown", "unknown")]
    assert found["services"][0]["good"] is False


class Renamed(MockAdapter):
    """Speaks the words of message VPNs, and names no family: a plug-in of some other product."""

    family = ""


def test_words_alone_make_no_family(shell: Shell) -> None:
    """Law (promise 18): an adapter that offers the readings and actions of another family is not taken for it."""
    shell.registry = Registry([EntryPoint("mock", "tests.cli.test_unknown_family:Renamed", GROUP)])
    assert shell("rehearse", "controlled", "--all", "--yes").code == 2
    assert shell("status").code == 4


def move(shell: Shell, pair: str, own: str, *more: str) -> Ended:
    return shell("controlled", "--all", "--inventory", pair, "--runbook", own, *more)


def test_a_dry_run_of_which_nothing_could_be_checked(shell: Shell, pair: str, own: str) -> None:
    """Law (promise 17): that everything holds is said of what was checked, and not where nothing was: exit code 4."""
    ended = move(shell, pair, own, "--dry-run")
    assert ended.code == 4
    assert "Every check that is possible now passes" not in ended.out
    assert "NOTHING COULD BE CHECKED" in ended.out
    assert move(shell, pair, own, "--dry-run", "--json").result["exit_code"] == 4


def test_a_run_with_its_own_runbook(shell: Shell, pair: str, own: str) -> None:
    """Law: it can be moved by a procedure of the operator's own; the report speaks of no VPN, and of no role that
    nobody read."""
    ended = move(shell, pair, own, "--yes")
    assert ended.code == 0
    for word in ("VPN", "vpn", "active", "message"):
        assert word not in ended.out


@pytest.mark.parametrize("command", ["lint", "explore"])
@pytest.mark.parametrize("as_json", [True, False])
def test_what_was_not_judged(shell: Shell, own: str, command: str, as_json: bool) -> None:
    """Law (promise 17): of commands that the model knows nothing about it judges nothing, says so, and ends with 4: the
    two of this runbook are in the wrong order, and no walk could have found it."""
    ended = shell("runbook", command, own, *(["--json"] if as_json else []))
    assert ended.code == 4
    assert "promises 1-4 were not judged: the model does not know what these commands do" in ended.out
    assert "read-write, read-only" in ended.out
    assert "no promise is broken" not in ended.out


HALF = """\
runbook: mariadb/switch
summary: A planned switch of a database that stops half-way.
steps:
  - id: stop
    title: The source becomes read-only
    do: {on: source, action: ensure, command: read-only}
    leaves: the source is read-only
  - id: drained
    title: The mate has everything
    do: {on: target, action: ensure, command: drained}
    leaves: nothing
"""


def test_a_run_that_stops_half_way(shell: Shell) -> None:
    """Law (promise 17): a change that was not rolled back is named first, whatever the lane ended as; nothing is said of
    a role or of messages that nobody read."""
    commands = {
        "read-only": {"argv": ["true"], "idempotent": True},
        "drained": {"argv": ["false"], "idempotent": True},
    }
    sites = {
        name: {"adapter": "local", "devices": [{"name": name, "address": name}], "options": {"commands": commands}}
        for name in ("a", "b")
    }
    pairs = [{"name": "db", "sites": ["a", "b"], "services": ["app"]}]
    inventory = str(shell.write("half.yaml", json.dumps({"sites": sites, "pairs": pairs})))
    half = str(shell.write("half-way.yaml", HALF))
    ended = shell("controlled", "--all", "--inventory", inventory, "--runbook", half, "--yes")
    assert ended.code in (5, 7)
    assert (
        ended.out.strip()
        .splitlines()[0]
        .startswith("LEFT CHANGED: these steps were not rolled back for app: The source becomes")
    )
    for word in ("active again", "nothing was lost", "message"):
        assert word not in ended.out
    [document] = shell("runs", "show", "--json").values
    assert document["lanes"][0]["left_changed"][0] == "The source becomes read-only"

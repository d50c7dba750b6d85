"""`failover check --explain FILE`: what is refused, what is said of adapters that cannot, and what machines get."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import ClassVar

import pytest

from adapters.mock.adapter import MockAdapter
from orchestrator.errors import CommandRejected
from orchestrator.family.registry import GROUP, Registry
from orchestrator.files import write_private
from orchestrator.model.exchanges import Exchange, Explanation
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading, ReadingModel
from orchestrator.model.readings import known_readings
from orchestrator.operations.declared_families import offer_families
from orchestrator.reports.unknowns import name_fields
from simulator.solace.layout import SiteLayout, VpnLayout, WorldLayout
from tests.cli.shell import VPN, Shell

# Texts in readings that are words or numbers of the device or of this program, and never a name.
WORDS = {
    "kind",
    "version",
    "level",
    "output",
    "why",
    "thing",
    "wish",
    "type",
    "message_type",
    "endpoint",
    "state",
    "denied",
    # Of another manager: what its program is called, and why nothing is known of it.
    "who",
    "other_manager_why",
    # Of families in files: histories of a log, positions and times in it, and the agent of a resource.
    "cluster",
    "history",
    "timeline",
    "last_time",
    "from",
    "pacemaker",
}


def _names_in(exchange: Exchange) -> Iterator[str]:
    yield from (word.removeprefix("name=") for word in exchange.answer.split() if word.startswith("name="))


class Teller(MockAdapter):
    """Tells the witness one exchange for each reading, and is refused the platform."""

    explanation: ClassVar[Explanation] = Explanation(_names_in, frozenset({"default"}), lambda one: "")

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        witness = self._context.witness
        assert witness is not None
        witness.heard(Exchange("NY_Appliance1", f"read {reading}", 0.0, 0.5, answer=f"name=Hidden_One {VPN} default"))
        if reading == "platform":
            raise CommandRejected("it says no to Hidden_One", device="NY_Appliance1")
        return super().probe(reading, services)


def registry_of(kind: str) -> Registry:
    """Adapters in which ``mock`` is one of these."""
    return Registry([EntryPoint("mock", f"{__name__}:{kind}", GROUP)])


def test_an_adapter_that_cannot_explain_says_so(shell: Shell) -> None:
    """Law: the check is made as ever, and of each reading it is said that nothing can be shown of it."""
    plain = shell("check")
    ended = shell("check", "--explain", "out.json")
    assert (ended.code, plain.code) == (4, 4)
    assert ended.out.count("this adapter cannot explain its readings") >= 10
    assert plain.out.splitlines()[-1] == ended.out.splitlines()[-1]
    document = json.loads(Path("out.json").read_text())
    assert {one["note"] for site in document["sites"] for one in site["readings"]} != {""}
    assert stat.S_IMODE(Path("out.json").stat().st_mode) == 0o600


def test_what_is_there_is_not_replaced(shell: Shell) -> None:
    """Law: a file that exists, or a directory that does not, is refused before any device is asked; so is --last."""
    shell.write("out.json", "mine")
    for arguments in (("--explain", "out.json"), ("--explain", "nowhere/out.json"), ("--explain", "x", "--last")):
        assert shell("check", *arguments).code == 2
    assert Path("out.json").read_text() == "mine"
    assert "never checked" in shell("check", "--last").out


def test_a_new_file_is_whole_or_not_there(tmp_path: Path) -> None:
    """Law: written without leave to replace, an existing file stays, and nothing half is left beside it."""
    write_private(tmp_path, "a", b"one", replace=False)
    with pytest.raises(FileExistsError):
        write_private(tmp_path, "a", b"two", replace=False)
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("a", b"one")]


def test_what_passed_is_told_with_other_names(shell: Shell) -> None:
    """Law: each reading has its own exchanges and what they came to; stdout has with --json what the file has; names of
    the inventory and those that the adapter finds are replaced in all of it, and its own words are not."""
    shell.registry = registry_of("Teller")
    ended = shell("check", "--explain", "out.json", "--json")
    [printed] = ended.values
    document = json.loads(Path("out.json").read_text())
    assert {**document, "exit_code": ended.code} == printed
    text = json.dumps(document)
    assert not any(name in text for name in (VPN, "NY_Appliance1", "Hidden_One"))
    for site in document["sites"]:
        for one in site["readings"]:
            assert [heard["sent"] for heard in one["exchanges"]] == [f"read {one['reading']}"]
            [line] = one["exchanges"][0]["answer"]
            assert line.endswith(" default")
        [platform] = [one for one in site["readings"] if one["reading"] == "platform"]
        assert platform["verdict"] == "not understood"
        assert platform["answers"][0]["failure"]["kind"] == "CommandRejected"
        assert site["services"][0] in line


def test_a_site_of_two_pairs_is_there_for_each(shell: Shell) -> None:
    """Law: where two pairs have the same sites, the file has what was read for the services of each."""
    shell.registry = registry_of("Teller")
    services = [VPN, "Risk_VPN"]
    path = shell.inventory(
        WorldLayout(
            sites=(SiteLayout("ny", ("NY_Appliance1",)), SiteLayout("nj", ("NJ_Appliance1",))),
            vpns=tuple(VpnLayout(name) for name in services),
        ),
        services=services,
    )
    plain = json.loads(path.read_text())
    [pair] = plain["pairs"]
    plain["pairs"] = [{**pair, "name": f"of-{name}", "services": [name]} for name in services]
    path.write_text(json.dumps(plain))
    shell("check", "--inventory", str(path), "--explain", "out.json")
    document = json.loads(Path("out.json").read_text())
    assert [len(site["services"]) for site in document["sites"]] == [1, 1, 1, 1]
    assert len({(site["site"], *site["services"]) for site in document["sites"]}) == 4


def test_every_text_of_a_reading_is_a_name_or_a_word() -> None:
    """Law: a new text in a reading is said to be a name, which is replaced, or a word, which is not."""
    offer_families()
    found: set[str] = set()
    kinds: list[type[ReadingModel]] = list(known_readings().values())
    while kinds:
        for name, one in kinds.pop().model_fields.items():
            found |= {name} if str in flat(one.annotation) else set()
            inside = [kind for kind in flat(one.annotation) if isinstance(kind, type)]
            kinds += [kind for kind in inside if issubclass(kind, ReadingModel)]
    assert {"xid", "name", "version"} <= found
    assert found - name_fields() - WORDS == set()


def flat(annotation: object) -> list[object]:
    """An annotation, and what it is made of, such as the items of a tuple."""
    return [annotation, *(kind for one in getattr(annotation, "__args__", ()) for kind in flat(one))]

"""What is worth knowing about an inventory that is formally right."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, cast

import pytest

from orchestrator.documents.lint.inventory import lint_adapters
from orchestrator.documents.loader import load_inventory, read_inventory
from orchestrator.errors import DefinitionError
from orchestrator.family.contract import Adapter
from orchestrator.family.registry import Registry
from orchestrator.model.findings import Finding, Level, first_of
from orchestrator.model.inventory import Site
from tests.definitions.declared import Write

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE3LLKSF9MBHAb1PW71Sw8qOv+iDp3DFABbB4SRei+L6"
TEXT = f"""\
sites:
  ny:
    adapter: mock
    devices:
      - name: ny1
        address: ny1.example.com
        host_key: {KEY}
    options:
      mode: fast
    fence: [{{backbone: true}}]
  nj:
    adapter: mock
    devices:
      - name: nj1
    fence: [{{attest: the cables are pulled}}]
pairs:
  - name: trading
    sites: [ny, nj]
    services: [A]
"""


Told = tuple[Level, str, int | None]


class Found(Protocol):
    """Loads an edited inventory and returns (level, code, line) of its findings."""

    def __call__(self, old: str = "", new: str = "") -> list[Told]: ...


@pytest.fixture
def found(write: Write) -> Found:
    def check(old: str = "", new: str = "") -> list[Told]:
        assert old in TEXT
        return [(one.level, one.code, one.line) for one in load_inventory(write(TEXT.replace(old, new, 1)))[1]]

    return check


def test_the_example_has_no_findings() -> None:
    """Law: the shipped example is one to follow."""
    assert load_inventory(Path(__file__).parents[2] / "examples/inventory.yaml")[1] == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", []),
        (f"        host_key: {KEY}\n", "", [(Level.NOTE, "no-host-key", 5)]),
        (f"        host_key: {KEY}\n    options:\n", "    options:\n      ca_file: ca.pem\n", []),
        ("    options:", "    login: {username: a, password: {env: X}}\n    options:", []),
        (
            "    options:",
            "    login:\n      username: a\n      password: {inline: x}\n    options:",
            [(Level.WARNING, "inline-secret", 10)],
        ),
        ("      mode: fast", "      api_token: x", [(Level.WARNING, "inline-secret", 9)]),
        ("      mode: fast", "      semp:\n        - password: x", [(Level.WARNING, "inline-secret", 10)]),
        ("      mode: fast", "      semp: {password: {inline: x}}", [(Level.WARNING, "inline-secret", 9)]),
        ("      mode: fast", "      semp: {password: {env: X}}", []),
        (f"        host_key: {KEY}\n", "", [(Level.NOTE, "no-host-key", 5)]),
        (f"        host_key: {KEY}\n", "    known_hosts: x\n", []),
        ("[ny, nj]", "[ny, la]", None),
        ("    adapter: mock", "    adapter: other", [(Level.NOTE, "mixed-adapters", 18)]),
        ("pairs:", "  la:\n    adapter: mock\n    devices: [{name: x}]\npairs:", [(Level.NOTE, "unused-site", 16)]),
    ],
)
def test_findings_that_do_not_forbid_the_use(found: Found, old: str, new: str, expected: list[Told]) -> None:
    """Law: secrets in plain sight are warnings; what is merely worth knowing is a note; both say where."""
    if expected is None:
        with pytest.raises(DefinitionError):
            found(old, new)
    else:
        assert found(old, new) == expected


@pytest.mark.parametrize(
    "key",
    ["abc", "ssh-ed25519", "ssh-ed25519 !!", f"ssh-rsa {KEY.split()[1]}", "ssh-rsa AAAA", f"{KEY} comment", "' x'"],
)
def test_a_host_key_that_pins_nothing_is_an_error(write: Write, key: str) -> None:
    """Law: a pin that no device could ever match is found now, and not at three in the morning."""
    path = write(TEXT.replace(KEY, key))
    with pytest.raises(
        DefinitionError, match=r":7: the host_key of device ny1 does not have the form <type> <base64>"
    ):
        load_inventory(path)


def test_two_pairs_of_one_name(write: Write) -> None:
    """Law: a pair is known by its name."""
    path = write(TEXT + "  - {name: trading, sites: [ny, nj], services: [B]}\n")
    with pytest.raises(DefinitionError, match=r":20: two pairs are called trading"):
        load_inventory(path)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("    fence: [{backbone: true}]\n", "", [(Level.NOTE, "no-fence-plan", 2)]),
        ("    fence: [{backbone: true}]\n", "    simulated: true\n", []),
        (
            "    fence: [{backbone",
            "    also: [{adapter: local, login: {username: a, password: {inline: x}}}]\n    fence: [{backbone",
            [(Level.WARNING, "inline-secret", 10)],
        ),
        (
            "    fence: [{backbone",
            "    also: [{adapter: local, options: {token: x}}]\n    fence: [{backbone",
            [(Level.WARNING, "inline-secret", 10)],
        ),
        (
            "    fence: [{backbone",
            "    also: [{adapter: local, devices: [{name: x, address: x}]}]\n    fence: [{backbone",
            [(Level.NOTE, "no-host-key", 10)],
        ),
        (
            "    fence: [{backbone",
            "    known_hosts: k\n    also: [{adapter: local, devices: [{name: x, address: x}]}]\n    fence: [{backbone",
            [],
        ),
    ],
)
def test_fence_plans_and_further_adapters(found: Found, old: str, new: str, expected: list[Told]) -> None:
    """Law: a site of a pair has a fence plan, unless it is the lab's; further adapters are read as the first is."""
    assert found(old, new) == expected


@pytest.mark.parametrize(
    ("commands", "sentence"),
    [
        ("{}", "runs cut, but no adapter of the site has it"),
        ("{cuts: {argv: [a], check: [b]}}", "runs cut, but no adapter of the site has it"),
        ("{cut: {argv: [a]}}", "the command cut has no check, so it cannot prove that site ny is fenced"),
        ("[cut]", "runs cut, but no adapter of the site has it"),
    ],
)
def test_a_fence_command_that_cannot_be_carried_out(write: Write, commands: str, sentence: str) -> None:
    """Law: a fence plan that would fail on the night is an error on the day."""
    also = f"    also: [{{adapter: local, options: {{commands: {commands}}}}}]\n    fence: [{{command: cut}}]\n"
    path = write(TEXT.replace("    fence: [{backbone: true}]\n", also))
    with pytest.raises(DefinitionError, match=f":11: .*{sentence}"):
        load_inventory(path)


def a_kind(*words: str, family: str = "solace") -> type[Adapter]:
    """An adapter that has these readings and actions, and speaks for a family."""

    readings = {name: name for name in words if not name.startswith("set_")}
    actions = {name: name for name in words if name.startswith("set_")}
    return cast("type[Adapter]", type("Kind", (), {"readings": readings, "actions": actions, "family": family}))


def test_a_site_whose_family_nobody_names(write: Write) -> None:
    """Law: what no command will know is said on the day, for each site of it."""
    definition = read_inventory(write(TEXT))
    assert definition.value is not None
    found = lint_adapters(
        definition.value, lambda site: a_kind("set_backbone", "fence", family=""), Registry().shared
    )
    assert [(one.level, one.code) for one in found] == [(Level.WARNING, "family-unknown")] * 2


@pytest.mark.parametrize(
    ("plan", "words", "found"),
    [
        ("{backbone: true}", ("set_backbone", "fence"), None),
        ("{backbone: true}", ("set_backbone",), (Level.WARNING, "fence-unproven", 10)),
        ("{backbone: true}", ("set_role", "fence"), (Level.ERROR, "fence-impossible", 10)),
        ("{attest: pull the cables}", (), None),
    ],
)
def test_a_fence_plan_is_within_the_adapters_power(
    write: Write, plan: str, words: tuple[str, ...], found: Told | None
) -> None:
    """Law: what the fence plan names can be done by an adapter of the site, and proven by one of its readings."""
    definition = read_inventory(write(TEXT.replace("fence: [{backbone: true}]", f"fence: [{plan}]", 1)))
    assert definition.value is not None
    told = lint_adapters(definition.value, lambda site: a_kind(*words), Registry().shared, lines=definition.lines)
    assert [(one.level, one.code, one.line) for one in told] == [found] * (found is not None)


def test_an_adapter_that_nobody_offers_is_found(write: Write) -> None:
    """Law: a slip in an adapter's name is found before the night, with the line it stands on."""
    definition = read_inventory(write(TEXT.replace("adapter: mock", "adapter: mok", 1)))
    assert definition.value is not None
    (found,) = lint_adapters(definition.value, Registry().declarations, Registry().shared, lines=definition.lines)
    assert (found.code, found.line) == ("adapter-unusable", 3)
    assert "no adapter is called 'mok'" in found.message
    assert "did you mean mock?" in found.hint


def test_one_mistake_is_not_told_thirty_thousand_times(write: Write) -> None:
    """Law: of very many findings those that matter most are shown, a hundred, and the last line counts the others; the
    level of the whole is that of all of them."""
    services = "\n".join(f"      - 'a{number};'" for number in range(3_000))
    findings = read_inventory(write(TEXT.replace("    services: [A]", f"    services:\n{services}"))).findings
    assert len(findings) == 3_000
    notes = [Finding(level=Level.NOTE, code="n", message="n")] * 200
    shown = first_of([*notes, *findings])
    assert [one.code for one in shown] == ["bad-name"] * 100 + ["more-findings"]
    assert shown[-1].message == "3,100 more findings not shown"
    assert first_of(notes[:100]) == notes[:100]


@pytest.mark.parametrize(
    ("plan", "code", "line", "sentence", "hint"),
    [
        (
            "[{backbon: true}]",
            "fence-unknown",
            10,
            "unknown key backbon in sites.ny.fence[0]",
            "did you mean backbone?",
        ),
        (
            "[{backbone: false}]",
            "fence-value",
            10,
            "sites.ny.fence[0].backbone is 'false', which is not allowed",
            "true",
        ),
        ("[{interface: lag1}]", "fence-value", 10, "sites.ny.fence[0].interface 'lag1' is not allowed", "1/1/lag1"),
        ("[{interface: 7}]", "fence-value", 10, "sites.ny.fence[0].interface '7' is not allowed", "1/1/lag1"),
    ],
)
def test_a_way_to_fence_that_no_family_brings(
    write: Write, plan: str, code: str, line: int, sentence: str, hint: str
) -> None:
    """Law: a way to fence, and its value, are what an installed family says; else the plan cannot be used."""
    read = read_inventory(write(TEXT.replace("[{backbone: true}]", plan, 1)))
    assert read.value is None
    [found] = [one for one in read.findings if one.level is Level.ERROR]
    assert (found.code, found.line, found.message) == (code, line, sentence)
    assert hint in found.hint


def test_a_recorded_way_to_fence_is_read_without_its_family() -> None:
    """Law: a record may name ways of families that are not installed here, and absent ones as null."""
    site = {
        "name": "ny",
        "adapter": "mock",
        "devices": [{"name": "a"}],
        "fence": [{"valve": "V7", "command": None, "attest": None}],
    }
    [option] = Site.model_validate(site).fence
    assert (option.kind, option.value, option.is_of_family) == ("valve", "V7", True)
    assert Site.model_validate_json(Site.model_validate(site).model_dump_json()).fence == (option,)

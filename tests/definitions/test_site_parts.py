"""A site with several adapters and a fence plan, as a model."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.documents.loader import load_inventory
from orchestrator.errors import DefinitionError
from orchestrator.model.inventory import FenceOption, Site
from tests.definitions.declared import Write

SITE = {
    "name": "ny",
    "title": "New York",
    "adapter": "solace-semp",
    "devices": [{"name": "ny1", "address": "ny1.example", "port": 1943}],
    "login": {"username": "ops", "password": {"env": "NY"}},
    "known_hosts": "hosts",
    "simulated": True,
    "command_timeout": 7.0,
    "options": {"ca_file": "ca.pem"},
    "fence": [{"attest": "pull the cables"}],
}


def a_site(**more: object) -> Site:
    return Site.model_validate({**SITE, **more})


def test_a_site_with_one_adapter_is_its_own_only_part() -> None:
    """Law: without ``also`` nothing is different."""
    site = a_site()
    assert site.parts == (site,)


def test_a_part_is_the_site_but_for_what_it_says_itself() -> None:
    """Law: what is left out is as the site has it; options are never handed on; the fence plan is everybody's."""
    site = a_site(
        also=[
            {"adapter": "solace-cli", "devices": [{"name": "ny1"}], "connect_timeout": 3.0},
            {"adapter": "local", "login": {"username": "me"}, "known_hosts": "mine", "options": {"commands": {}}},
        ]
    )
    first, cli, local = site.parts
    assert first == a_site()
    assert cli == a_site(adapter="solace-cli", devices=[{"name": "ny1"}], connect_timeout=3.0, options={})
    assert local == a_site(adapter="local", login={"username": "me"}, known_hosts="mine", options={"commands": {}})


def test_a_stored_site_is_the_same() -> None:
    """Law: a recorded inventory gives the same parts and the same fence plan to whoever resumes."""
    site = a_site(also=[{"adapter": "local", "options": {"a": [1]}}], fence=[{"backbone": True}, {"command": "cut"}])
    assert Site.model_validate_json(site.model_dump_json()).parts == site.parts


def test_the_options_of_a_fence_plan_by_kind() -> None:
    """Law: an option knows its kind, and the plan finds it by that."""
    site = a_site(fence=[{"command": "cut"}, {"backbone": True}])
    assert [option.kind for option in site.fence] == ["command", "backbone"]
    assert site.fenced_by("command") == FenceOption(command="cut")
    assert site.fenced_by("attest") is None


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ("fence: [{backbone: true}, {backbone: true}]", "a fence plan can have each kind only once"),
        (
            "fence: [{backbone: true, command: cut}]",
            "give exactly one of backbone, interface, (stopped, )?command, attest",
        ),
        ("fence: [{attest: ''}]", "at least 1 character must be given"),
        ("fence: [{interface: 'eth0; reload'}]", "interface .* is not allowed"),
        ("also: [{adapter: mock}]", "a site cannot have the same adapter twice"),
        ("also: [{adapter: local}, {adapter: local}]", "a site cannot have the same adapter twice"),
        ("also: [{adapter: local, devices: [{name: a}, {name: a}]}]", "two devices of one site have the same name"),
        ("also: [{adapter: local, fence: []}]", "unknown key fence"),
        ("fence: [{vpn_disabled: true}]", "unknown key vpn_disabled"),
    ],
)
def test_what_cannot_be_meant_is_refused(write: Write, more: dict[str, Any], sentence: str) -> None:
    """Law: a plan that is ambiguous, or by a means that the other site would copy, is refused with file and line."""
    text = (
        f"sites:\n  ny:\n    adapter: mock\n    devices: [{{name: ny1}}]\n    {more}\n"
        "  nj:\n    adapter: mock\n    devices: [{name: nj1}]\n"
        "pairs:\n  - {name: p, sites: [ny, nj], services: [A]}\n"
    )
    with pytest.raises(DefinitionError, match=rf":[25]: .*({sentence})"):
        load_inventory(write(text))

"""docs/systems/semp.md: its example loads and makes adapters, and it tells of every option, reading and action."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from adapters.solace.semp.adapter import SempOptions, SolaceSempAdapter
from orchestrator.clock import VirtualClock
from orchestrator.documents.loader import load_inventory
from orchestrator.errors import DefinitionError
from orchestrator.family.contract import AdapterContext, Call
from orchestrator.model.inventory import Device, Site
from tests.semp.stage import Secrets

PAGE = (Path(__file__).parents[2] / "docs/systems/semp.md").read_text("utf-8")


def first_column(heading: str) -> set[str]:
    """The code spans in the first column of the table below a heading."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| ")]
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


def test_the_example_is_an_inventory(tmp_path: Path) -> None:
    """It loads, and each part of it that is SEMP has what an adapter needs; a CA file has to be there, of course."""
    [text] = re.findall(r"<!-- loads: inventory -->\n```yaml\n(.*?)```", PAGE, re.DOTALL)
    file = tmp_path / "inventory.yaml"
    file.write_text(text)
    inventory, _ = load_inventory(file)
    setting = AdapterContext(VirtualClock(), Secrets())
    over_semp = [part for site in inventory.sites.values() for part in site.parts if part.adapter == "solace-semp"]
    assert len(over_semp) == 2
    for part in over_semp:
        if "ca_file" in part.options:
            with pytest.raises(DefinitionError, match="ca_file"):
                SolaceSempAdapter(part, setting)
            part = part.model_copy(update={"options": {}})
        SolaceSempAdapter(part, setting).close()


def test_the_tables_are_whole() -> None:
    """Each option, reading and action, and no other."""
    assert first_column("Options") == set(SempOptions.model_fields)
    assert first_column("What is read how") == set(SolaceSempAdapter.readings) - {"health"}
    assert first_column("What is changed how") == set(SolaceSempAdapter.actions)


def test_the_requests_are_those_that_are_sent() -> None:
    """Word for word, with V and XID for the names."""
    calls = {
        "set_role": Call("V", {"role": "standby"}),
        "complete_transaction": Call("V", {"xid": "XID", "outcome": "commit"}),
        "delete_transaction": Call("V", {"xid": "XID"}),
        "set_reject_on_discard": Call("V", {"enabled": "no"}),
        "set_backbone": Call("V", {"state": "down"}),
    }
    for name, call in calls.items():
        [line] = SolaceSempAdapter.actions[name].commands(call)
        assert f"| `{name}` | `{line.replace('/SEMP/v2/', '')}`" in PAGE


def test_options_that_cannot_be_used_are_explained() -> None:
    """An unknown one, and a site that would speak in clear text."""
    setting = AdapterContext(VirtualClock(), Secrets())
    for options, words in (
        ({"verify": False}, "verify"),
        ({"scheme": "http"}, "clear text"),
        ({"scheme": "ftp"}, "scheme"),
    ):
        site = Site(
            name="ny", adapter="solace-semp", devices=(Device(name="ny1.example.com", port=443),), options=options
        )
        with pytest.raises(DefinitionError, match=words):
            SolaceSempAdapter(site, setting)

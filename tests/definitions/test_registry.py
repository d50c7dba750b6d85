"""Adapters by name: found through entry points, imported late, and never in each other's way."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint, distributions
from pathlib import Path

import pytest

from orchestrator.clock import VirtualClock
from orchestrator.errors import DefinitionError
from orchestrator.family.contract import AdapterContext
from orchestrator.family.registry import GROUP, Registry
from orchestrator.family.secrets import SecretStore
from orchestrator.model.findings import Level
from orchestrator.model.inventory import Site

ADAPTER = """
class Adapter:
    readings = {}
    actions = {}
    simulated = True

    def __init__(self, site, setting):
        self.site, self.setting = site, setting

    def open(self): ...
    def probe(self, reading, services): ...
    def apply(self, action, calls, permit): ...
    def close(self): ...


class NoClose(Adapter):
    close = None
    simulated = "yes"


def function(site, setting): ...
"""


Install = Callable[..., Registry]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Installs distributions into a folder of their own: name → the lines of the entry point group."""
    (tmp_path / "good_plugin.py").write_text(ADAPTER)
    (tmp_path / "broken_plugin.py").write_text("raise RuntimeError('cannot work here')\n")
    (tmp_path / "unfinished_plugin.py").write_text("def (\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    def install(**offers: str) -> Registry:
        for name, lines in offers.items():
            folder = tmp_path / f"{name}-1.0.dist-info"
            folder.mkdir()
            (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
            (folder / "entry_points.txt").write_text(f"[{GROUP}]\n{lines}\n")
        found = distributions(path=[str(tmp_path)])
        return Registry([entry for one in found for entry in one.entry_points])

    return install


def test_built_ins_come_through_the_same_door() -> None:
    """Law: the product's own adapters are entry points of its own distribution."""
    assert {"mock", "solace-cli"} <= set(Registry().names())


def test_an_adapter_is_made_for_its_site(installed: Install) -> None:
    """Law: a third party's adapter is found by its name and is given its site and setting."""
    registry = installed(acme="acme = good_plugin:Adapter")
    site = Site.model_validate({"name": "ny", "adapter": "acme", "devices": [{"name": "ny1"}]})
    setting = AdapterContext(clock=VirtualClock(), secrets=SecretStore())
    adapter = registry.adapter_for(site, setting)
    assert type(adapter) is registry.get("acme")
    assert vars(adapter) == {"site": site, "setting": setting}
    assert registry.findings() == []


def test_an_unknown_name_lists_the_known_ones(installed: Install) -> None:
    """Law: a slip of the keyboard is answered with what there is."""
    registry = installed(acme="acme = good_plugin:Adapter\nother = good_plugin:Adapter")
    with pytest.raises(DefinitionError) as caught:
        registry.get("acmee")
    assert str(caught.value) == "no adapter is called 'acmee'"
    assert caught.value.hint == "did you mean acme? installed: acme, other"


def test_one_name_offered_twice_is_refused_with_both_owners(installed: Install) -> None:
    """Law: nobody chooses silently between two adapters of one name; other names are not concerned."""
    registry = installed(
        acme="fast = good_plugin:Adapter\nmine = good_plugin:Adapter", zenith="fast = broken_plugin:Adapter"
    )
    with pytest.raises(DefinitionError) as caught:
        registry.get("fast")
    owners = "acme (good_plugin:Adapter) and zenith (broken_plugin:Adapter)"
    sentence = f"more than one package offers the adapter fast: {owners}"
    assert str(caught.value) == sentence
    assert registry.get("mine")
    assert [(found.level, found.code, found.message) for found in registry.findings()] == [
        (Level.ERROR, "adapter-twice", sentence)
    ]


def test_one_distribution_seen_twice_is_no_conflict() -> None:
    """Law: the same offer found at two places of the import path is one offer."""
    entry = EntryPoint("json", "json:JSONDecoder", GROUP)
    assert Registry([entry, EntryPoint("json", "json:JSONDecoder", GROUP)]).names() == ["json"]


@pytest.mark.parametrize(
    ("offer", "sentence"),
    [
        ("bad = broken_plugin:Adapter", "cannot be imported: RuntimeError: cannot work here"),
        ("bad = unfinished_plugin:Adapter", "cannot be imported: SyntaxError: "),
        ("bad = missing_plugin:Adapter", "cannot be imported: ModuleNotFoundError: No module named 'missing_plugin'"),
        ("bad = good_plugin:Nothing", "cannot be imported: AttributeError: "),
        ("bad = good_plugin:NoClose", "does not fit the contract: the adapter has no close, simulated"),
        (
            "bad = good_plugin:function",
            "does not fit the contract: the adapter has no open, probe, apply, close, readings",
        ),
        ("bad = not a module", "cannot be imported"),
    ],
)
def test_a_broken_plug_in_is_reported_and_harms_nobody(installed: Install, offer: str, sentence: str) -> None:
    """Law: what is wrong with one plug-in is data with its owner's name; the others work."""
    registry = installed(acme=f"{offer}\ngood = good_plugin:Adapter")
    assert registry.names() == ["bad", "good"]
    assert registry.get("good").__name__ == "Adapter"
    (finding,) = registry.findings()
    assert (finding.level, finding.code) == (Level.ERROR, "adapter-broken")
    assert finding.message.startswith("the adapter bad of acme ")
    assert sentence in finding.message
    with pytest.raises(DefinitionError, match="the adapter bad of acme"):
        registry.get("bad")


def test_registries_share_nothing(installed: Install) -> None:
    """Law: state is on the instance."""
    assert installed(acme="acme = good_plugin:Adapter").names() == ["acme"]
    assert Registry([]).names() == []


@pytest.mark.realtime
def test_names_are_had_without_importing_an_adapter() -> None:
    """Law: a help text costs no import of an adapter or of its libraries."""
    code = (
        "import sys; from orchestrator.family.registry import Registry; names = Registry().names(); "
        "print([name for name in sys.modules if name.startswith(('adapters.', 'paramiko', 'httpx'))], len(names))"
    )
    folder = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=folder)
    assert done.stdout.startswith("[] ")

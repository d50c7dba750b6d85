"""The laws that every family keeps: each of them can be broken, and the families of the product keep them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import ClassVar, Literal

import pytest

from examples.ledger import ledger
from orchestrator.clock import VirtualClock
from orchestrator.errors import NoSuchService
from orchestrator.family.contract import ActionSpec, AdapterContext, ArgumentSpec, ReadingSpec
from orchestrator.family.registry import Registry
from orchestrator.family.secrets import SecretStore
from orchestrator.model.facets import Facet
from orchestrator.model.families import Family, needed_family
from orchestrator.model.inventory import Site
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from orchestrator.operations.conformance import Opened, verdicts_of
from tests.families.installed import Ledgers

_LOCAL = EntryPoint("local", "adapters.local.adapter:LocalAdapter", "failover.adapters")


def registry_with(name: str = "LedgerAdapter", module: str = "examples.ledger.ledger") -> Registry:
    """The adapters of a machine that has this one."""
    return Registry([_LOCAL, EntryPoint("ledger-files", f"{module}:{name}", "failover.adapters")])


def broken(family: Family, registry: Registry, opened: Sequence[Opened] = ()) -> dict[str, tuple[str, ...]]:
    """The laws that are broken, and by what."""
    return {one.law: one.details for one in verdicts_of(family, registry, opened) if one.outcome == "broken"}


@pytest.mark.parametrize("name", ["solace", "amps"])
def test_the_families_of_the_product_keep_them(name: str) -> None:
    """Law: what is asked of a third party, the product's own families keep too."""
    assert broken(needed_family(name), Registry()) == {}


class Loose(Reading):
    """Facets that do not fit, and a value that cannot be unknown."""

    facets: ClassVar[Mapping[Facet, str]] = {Facet.SERVES: "rows", Facet.LINK: "missing", Facet.BACKLOG: "rows"}

    kind: Literal["loose"] = "loose"
    rows: int


class Odd(ledger.LedgerAdapter):
    """Declares what does not fit together."""

    readings: ClassVar[Mapping[str, ReadingSpec]] = {
        "nowhere": ReadingSpec("nowhere", "", lambda services: []),
    }
    actions: ClassVar[Mapping[str, ActionSpec]] = {
        "set_writable": ActionSpec(
            "set_writable",
            "x",
            idempotent=True,
            commands=lambda call: ["a\nb"],
            inverse="unset",
            arguments={"state": ArgumentSpec(choices=("yes", "yes"))},
        )
    }


BASE = ledger.LEDGER


@pytest.mark.parametrize(
    ("family", "law", "detail"),
    [
        (replace(BASE, name="other"), "An installed adapter", "no installed adapter has `family = 'other'`"),
        (
            replace(ledger.LEDGER, readings={"loose": Loose}),
            "Each facet names",
            "the facet serves must be bool, but rows has another type",
        ),
        (replace(BASE, readings={"loose": Loose}), "Each facet names", "does not have this field"),
        (replace(BASE, readings={"loose": Loose}), "Each facet names", "its backlog has no unit"),
        (replace(BASE, readings={"loose": Loose}), "Every value", "rows has no default"),
        (
            replace(ledger.LEDGER, readings={"batches": ledger.Batches}),
            "A reading shows whether a site serves",
            "which site is active",
        ),
        (
            replace(ledger.LEDGER, makes={("promote", "state"): {"yes": {Facet.SERVES: True}}}),
            "`makes` names",
            "no adapter has an action",
        ),
        (
            replace(BASE, makes={("set_writable", "state"): {"on": {Facet.SERVES: True}}}),
            "`makes` names",
            "no choice 'on'",
        ),
        (replace(BASE, runbooks=None), "The family ships a controlled move", "no controlled.yaml"),
    ],
)
def test_a_family_that_breaks_one(family: Family, law: str, detail: str) -> None:
    """Law: each law names what breaks it."""
    found = broken(family, registry_with())
    [details] = [some for name, some in found.items() if name.startswith(law)]
    assert any(detail in one for one in details), details


def test_adapters_that_break_them() -> None:
    """Law: what an adapter declares is looked at, too."""
    found = broken(ledger.LEDGER, registry_with("Odd", __name__))
    text = "\n".join(f"{law} {' '.join(details)}" for law, details in found.items())
    assert "no family has a reading nowhere" in text
    assert "its inverse unset does not exist" in text
    assert "a choice of state is listed twice" in text
    assert "or a command that cannot be printed" in text


def test_a_runbook_with_an_error(tmp_path: Path) -> None:
    """Law: a runbook that lint refuses is not shipped."""
    whole = (Path(ledger.__file__).parent / "runbooks/controlled.yaml").read_text()
    (tmp_path / "controlled.yaml").write_text(whole.replace("action: close_batch", "action: close_all"))
    found = broken(replace(BASE, runbooks=tmp_path), registry_with())
    assert found["The runbooks of the family have no errors."] == (
        "controlled: no action is called 'close_all' [unknown-action]",
    )


class Careless(ledger.LedgerAdapter):
    """Answers for every name, and for none."""

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        """Never a failure."""
        found = dict(super().probe(reading, services))
        other = next(iter(found.values()), None)
        if other is None:
            return {"orders": Failure.of(NoSuchService("nobody asked"))}
        is_batches = reading == "batches"
        return {
            name: (ledger.Ledger() if is_batches else ledger.Ledger(rows=1)) if isinstance(one, Failure) else one
            for name, one in found.items()
        }


@pytest.mark.parametrize("kind", [ledger.LedgerAdapter, Careless])
def test_what_a_site_answers(tmp_path: Path, kind: type[ledger.LedgerAdapter]) -> None:
    """Law: with a session, the laws of reading are checked, and nothing is changed by it."""
    ledgers = Ledgers.install(tmp_path)
    site = Site.model_validate(
        {"name": "ny", "adapter": "x", "devices": [{"name": "ny1"}], "options": {"folder": str(tmp_path / "ny")}}
    )
    before = ledgers.read("ny")
    setting = AdapterContext(clock=VirtualClock(), secrets=SecretStore(), read_only=True)
    with closing(kind(site, setting)) as adapter:
        found = broken(ledger.LEDGER, registry_with(), [Opened("ny", adapter, ["orders"])])
    assert ledgers.read("ny") == before
    if kind is ledger.LedgerAdapter:
        assert found == {}
        return
    assert set(found) == {
        "A request without services gets no answers.",
        "For a service that the site does not have, a reading gives a definite failure.",
    }

"""A family, made from the file that declares it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import StringConstraints, create_model

from adapters.declared.adapter import adapter_of
from adapters.declared.moves import OPTIONS
from adapters.declared.reading_models import reading_model
from adapters.mock.declared.adapter import mock_name, mock_of
from orchestrator.family.contract import AdapterContext
from orchestrator.family.guard import GuardSessions, GuardStrategy, GuardTarget, MakeGuard
from orchestrator.family.moves import Given, Kind, MoveOption
from orchestrator.family.offers import Offering
from orchestrator.family.registry import Registry
from orchestrator.family.rehearsal import MakeScene, Rehearsal, Scene
from orchestrator.model.declared.file import ActionFile, FamilyFile, ItemsFile, SwitchFile, way_of
from orchestrator.model.declared.requests import rules_in
from orchestrator.model.facets import Facet
from orchestrator.model.families import Words
from orchestrator.model.fences import FenceKind
from orchestrator.model.inventory import Site
from orchestrator.model.transactions import TransactionDecision, TransactionDecisions

# The suffixes of the names of runbooks that fence a site this way, or undo it. A family adds others.
_FENCED = {"command": "commanded", "attest": ""}


@dataclass(frozen=True, slots=True)
class DeclaredFamily(Offering):
    """The family that ``file`` declares, and the choice of its runbook for a move."""

    file: FamilyFile | None = None

    def options(self, kind: Kind) -> Sequence[MoveOption]:
        """The options of every declared family, the switches of this one, and an option for the decisions at each gate
        on items."""
        if self.file is None:
            return OPTIONS[kind]
        switches = [_switch(name, one) for name, one in self.file.switches.items() if kind in one.kinds]
        listing = [one for one in self.file.readings.values() if one.items is not None and one.items.decides]
        decided = [_decisions(one.summary, one.items) for one in listing if one.items is not None]
        return [*OPTIONS[kind], *switches, *decided]

    def runbook_for(self, kind: Kind, site: Site, given: Given) -> str:
        """The runbook that a switch chooses, in the variant for the site's fence plan if there is such a runbook. A
        failed site is fenced as its plan prefers, unless an operator answers for the fence. A fence that a command
        closed is opened by the variant for commands."""
        switches = {} if self.file is None else self.file.switches
        chosen = next((one.runbook for name, one in switches.items() if f"--{name}" in given), kind)
        ways = [_FENCED.get(option.kind, "fenced") for option in site.fence]
        if kind == "uncontrolled":
            ways = [] if {"--attest", "--reason"} & set(given) else ways[:1]
        fitting = [f"{chosen}-{way}" for way in ways if way]
        return next((one for one in fitting if self._has(one)), chosen)

    def _has(self, runbook: str) -> bool:
        return self.runbooks is not None and (self.runbooks / f"{runbook}.yaml").is_file()

    def guard(self) -> MakeGuard | None:
        """The guard, by the ``guard`` runbook of the family or of its file. A site that no action closes is not
        guarded."""
        file = self.file
        if file is None or not (self._has("guard") or len(file.closing) == 1):
            return None

        def make(target: GuardTarget, sessions: GuardSessions) -> GuardStrategy:
            from adapters.declared.guard import FacetGuard

            return FacetGuard(file, target, sessions)

        return make

    def rehearsal(self) -> MakeScene | None:
        """A copy of the pair, by the declared effects of its actions. None without effects: nothing would happen in the
        copy."""
        file = self.file
        if file is None or not self.makes:
            return None

        def make(rehearsal: Rehearsal, registry: Registry, context: AdapterContext) -> Scene:
            from adapters.mock.declared.scene import DeclaredScene

            del registry, context
            return DeclaredScene(file, rehearsal)

        return make


def _switch(name: str, declared: SwitchFile) -> MoveOption:
    return MoveOption(flag=f"--{name}", help=declared.says)


def _decisions(what: str, items: ItemsFile) -> MoveOption:
    return MoveOption(
        flag=f"--{items.decides}",
        metavar="ask|stop|revert|FILE",
        help=f"{what[:1].upper()}{what[1:]}: the decisions in FILE; for items without a decision: ask, stop, or revert"
        " (default: ask on a terminal, else revert).",
        decides=items.decides or "",
        decisions=_decision_file(items.key),
    )


@cache
def _decision_file(key: str) -> type[TransactionDecisions]:
    """The model of a file of decisions on items that are named by ``key``."""
    text: Any = Annotated[str, StringConstraints(min_length=1, max_length=1000)]
    named: dict[str, Any] = {key: (text, ...)}
    entry: Any = create_model("ItemDecision", __base__=TransactionDecision, **named)
    made = create_model("ItemDecisions", __base__=TransactionDecisions, decisions=(tuple[entry, ...], ()))
    made.key, made.published = key, False
    return made


def _implied(file: FamilyFile, action: ActionFile) -> dict[str, bool]:
    """The facets that are False once a site has obeyed: by the model, they hold only while a flag that ``action``
    changes has its other value."""
    return {
        name: False
        for name, rule in rules_in(file.model).items()
        if name in (Facet.SERVES, Facet.LINK)
        and any(action.makes.get(other) is (not value) for other, value in rule.only_while.items())
    }


def _asked_while(file: FamilyFile) -> dict[str, Mapping[str, bool]]:
    """By reading or action, the flags that must hold so that it is asked: by the rules of the reading and of its
    connection."""
    rules, found = rules_in(file.model), dict[str, dict[str, bool]]()
    asked = {name: (name, way_of(one)) for name, one in file.readings.items()}
    for name, keys in ({name: (way_of(one),) for name, one in file.actions.items()} | asked).items():
        found[name] = {field: value for key in keys if key in rules for field, value in rules[key].only_while.items()}
    return {name: needed for name, needed in found.items() if needed}


def family_of(file: FamilyFile, runbooks: Path | None) -> Offering:
    """The family, with the adapter that it brings. ``runbooks``: the folder of its procedures, if it exists."""
    models = {name: reading_model(file.family, name, one) for name, one in file.readings.items()}
    if not any(Facet.BACKLOG in one.facets for one in models.values()):
        for one in models.values():  # then only the last numbers of both ends tell what a lost site leaves behind
            one.risk = "last number" if Facet.MARK in one.facets else ""
    return DeclaredFamily(
        name=file.family,
        words=Words(**file.words.model_dump()),
        readings=models,
        runbooks=runbooks if runbooks is not None and runbooks.is_dir() else None,
        makes={(name, ""): {"": dict(one.makes)} for name, one in file.actions.items() if one.makes},
        implies={(name, ""): {"": _implied(file, one)} for name, one in file.actions.items()},
        adapters={file.family: adapter_of(file, models), mock_name(file.family): mock_of(file, models)},
        fences={name: FenceKind(**one.model_dump(), published=False) for name, one in file.fences.items()},
        model=file.flags,
        asked_while=_asked_while(file),
        file=file,
    )

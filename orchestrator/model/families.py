"""The declaration of a family: the only way to add a kind of replicated system to the program.

A distribution names its families in the entry point group ``failover.families``. Each is an object of ``Family``, or of a
subclass that offers more. If a family does not offer something, every command that needs it says so in a sentence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import cast

from orchestrator.counting import counted
from orchestrator.errors import DefinitionError
from orchestrator.model.comparisons import Rule
from orchestrator.model.facets import Facet
from orchestrator.model.fences import FenceKind
from orchestrator.model.installed import installed, installed_as
from orchestrator.model.reading import Reading

# By action and argument, for each value of the argument: facets, and fields without a facet.
Makes = Mapping[tuple[str, str], Mapping[str, Mapping[str, bool]]]

# The folder beside this package, in a checkout and in an installed wheel. The import path is not searched for the folder:
# a folder ``runbooks`` in the working directory must not replace a shipped procedure.
SHIPPED = Path(str(resources.files("orchestrator"))).parent / "runbooks"


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a family for people. ``service``: the unit that fails over by itself. ``backlog``: the unit of the
    queue for the mate, in the singular (``message``, ``byte``); empty: unknown. ``none_serves``: the text for a pair
    where no site serves. ``outage``: the text for a time during which no site served. ``keeps``: the data that is lost
    with a lost site. ``link_down``: the text for a broken link. ``blocked``: the text for a serving site that refuses
    writes while its mate is away.
    """

    service: str = "service"
    services: str = "services"
    backlog: str = ""
    none_serves: str = "NO SITE IS ACTIVE"
    outage: str = "no active site"
    keeps: str = "what it holds"
    link_down: str = "the link is down ({site})"
    blocked: str = "WRITERS WAIT: {site} confirms no write of {services} until {mate} is restored"


@dataclass(frozen=True, kw_only=True)
class Family:
    """One kind of replicated system.

    ``runbooks``: the folder that holds its procedures as ``<kind>.yaml``, or None. ``comparisons``: the rules by which
    its runbooks compare both sites. ``makes``: by action and argument, for each value of the argument, the facets of a
    site after the action took effect. The argument is empty if the effect does not depend on one. ``implies``: like
    ``makes``, for the consequences: a stopped server serves no client. ``fences``: the ways to fence that the fence plan
    of a site may name, by key. ``adapters``: by name, the adapters of the family itself, besides those that distributions
    offer. ``model``: true-or-false fields without a facet, with their values at the source and at the target while the
    pair is well. ``asked_while``: by reading or action, the fields with the values that a site must have. Otherwise the
    site does not answer the reading, or does not obey the action.
    """

    name: str
    words: Words
    readings: Mapping[str, type[Reading]]
    runbooks: Path | None
    comparisons: Mapping[str, Rule] = field(default_factory=dict)
    makes: Makes = field(default_factory=dict)
    implies: Makes = field(default_factory=dict)
    fences: Mapping[str, FenceKind] = field(default_factory=dict)
    adapters: Mapping[str, type[object]] = field(default_factory=dict)
    model: Mapping[str, tuple[bool, bool]] = field(default_factory=dict)
    asked_while: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)

    @property
    def surveyed(self) -> Sequence[str]:
        """The readings that show the state of a pair: readings with facets that are not only for steps."""
        return [name for name, model in self.readings.items() if model.facets and model.surveyed]

    def offers(self, facet: Facet) -> bool:
        """Does any reading of the family have this facet?"""
        return any(facet in model.facets for model in self.readings.values())

    def unit_of(self, facet: Facet) -> str:
        """The unit of the number with ``facet``, in the singular; empty: unknown."""
        return next((model.unit for model in self.readings.values() if facet in model.facets), "")


def family_called(name: str) -> Family | None:
    """The installed family of this name, or None."""
    # ``installed`` has checked that the object has the needed parts. A plug-in need not inherit from ``Family``.
    return cast("Family | None", installed_as(name))


def known_families() -> Sequence[str]:
    """The names of the families that are installed and can be used, sorted."""
    return sorted(installed().families)


def needed_family(name: str) -> Family:
    """The installed family of this name. Raises ``DefinitionError`` with the reason if there is none."""
    family = family_called(name)
    if family is None:
        why = installed().problems.get(name, "no installed distribution offers this family")
        raise DefinitionError(
            f"the family {name!r} is not installed: {why}",
            hint=f"installed: {', '.join(known_families())}; for a family of a file, use `failover --family FILE …`",
        )
    return family


def made(family: str, action: str, args: Mapping[str, str], facet: Facet) -> bool | None:
    """Does a site have this facet after the action took effect? None: the action does not change the facet, or is
    unknown.

    If no family of this name is installed, as with an operator's own runbook, the first family that knows the action
    counts.
    """
    named = family_called(family)
    asked = [named] if named is not None else [family_called(one) for one in known_families()]
    for one in asked:
        # A plug-in may lack parts of a family.
        implied = made_by(getattr(one, "implies", {}), action, args)
        after = {} if one is None else {**implied, **made_by(one.makes, action, args)}
        if facet in after:
            return after[facet]
    return None


def made_by(makes: Makes, action: str, args: Mapping[str, str]) -> Mapping[str, bool]:
    """The facets, and the fields without a facet, that a site has after this call took effect."""
    found: dict[str, bool] = {}
    for name, value in ("", ""), *args.items():
        found.update(makes.get((action, name), {}).get(value, {}))
    return found


def words_of(family: str) -> Words:
    """The words of a family; general words if the family is not installed."""
    found = family_called(family)
    return Words() if found is None else found.words


def amount(number: int | None, family: str) -> str:
    """A number with its unit, such as ``1,200 messages``, or alone if the unit is unknown. ``family``: of the runbook."""
    unit = words_of(family).backlog
    if not unit:
        return "an unknown number" if number is None else f"{number:,}"
    return f"an unknown number of {unit}s" if number is None else counted(number, unit)

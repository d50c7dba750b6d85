"""What a family says of itself: the one door through which a kind of replicated system comes into the program.

A distribution names its families in the entry point group ``failover.families``; each is an object of ``Family``, or of a
subclass that offers more. What it does not offer, every command says in a sentence.
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

# By action and argument, for each value of the argument: facets, and fields that have none.
Makes = Mapping[tuple[str, str], Mapping[str, Mapping[str, bool]]]

# The folder beside this package, in a checkout as in an installed wheel. Not whatever ``runbooks`` the import path finds
# first: a folder of that name in the working directory must not replace a shipped procedure.
SHIPPED = Path(str(resources.files("orchestrator"))).parent / "runbooks"


@dataclass(frozen=True, slots=True)
class Words:
    """What people call its things. ``service``: what fails over on its own. ``backlog``: what is queued for the mate, in
    the singular (``message``, ``byte``); empty: not known. ``none_serves``: that no site serves; ``outage``: the same as
    what was so for some time. ``keeps``: what a lost site takes with it.
    ``link_down``: that the link does not hold. ``blocked``: that a site that serves refuses writes while its mate is
    away.
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

    ``runbooks``: the folder that holds its procedures as ``<kind>.yaml``, or None. ``comparisons``: the
    rules that its runbooks compare both sites by. ``makes``: by action and argument, for each value of the argument,
    the facets that a site has once it has obeyed; an action that needs no argument for that is named with an empty one.
    ``implies``: the same of what follows from that: a server that was stopped serves no client.
    ``fences``: what the fence plan of a site may name, by its key. ``adapters``: by name, those that it brings itself,
    beside what distributions offer. ``model``: fields that are true or false and have no facet, with their values at the
    source and at the target while the pair is well. ``asked_while``: by reading and action, the fields that a site has to
    have so that it is answered, and obeyed.
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
        """The readings that show how a pair is: those with facets that steps do not read alone."""
        return [name for name, model in self.readings.items() if model.facets and model.surveyed]

    def offers(self, facet: Facet) -> bool:
        """Has any of its readings this facet?"""
        return any(facet in model.facets for model in self.readings.values())

    def unit_of(self, facet: Facet) -> str:
        """What the number with ``facet`` counts, in the singular; empty: unknown."""
        return next((model.unit for model in self.readings.values() if facet in model.facets), "")


def family_called(name: str) -> Family | None:
    """The installed family of this name, or None."""
    # ``installed`` has seen that it has the parts of one; a plug-in need not inherit.
    return cast("Family | None", installed_as(name))


def known_families() -> Sequence[str]:
    """The names of those that are installed and can be used, sorted."""
    return sorted(installed().families)


def needed_family(name: str) -> Family:
    """The installed family of this name. Raises ``DefinitionError`` that says why there is none."""
    family = family_called(name)
    if family is None:
        why = installed().problems.get(name, "no distribution offers it")
        raise DefinitionError(
            f"the family {name!r} is not installed: {why}",
            hint=f"installed: {', '.join(known_families())}; one that a file declares: `failover --family FILE …`",
        )
    return family


def made(family: str, action: str, args: Mapping[str, str], facet: Facet) -> bool | None:
    """Has a site this facet once it has obeyed the action? None: the action changes nothing of that, or is not known.

    A runbook of the operator's own has no family of its name; then any family that knows the action answers.
    """
    named = family_called(family)
    asked = [named] if named is not None else [family_called(one) for one in known_families()]
    for one in asked:
        # A plug-in need not have all parts of a family.
        implied = made_by(getattr(one, "implies", {}), action, args)
        after = {} if one is None else {**implied, **made_by(one.makes, action, args)}
        if facet in after:
            return after[facet]
    return None


def made_by(makes: Makes, action: str, args: Mapping[str, str]) -> Mapping[str, bool]:
    """The facets, and the fields without one, that a site has once it has obeyed this call."""
    found: dict[str, bool] = {}
    for name, value in ("", ""), *args.items():
        found.update(makes.get((action, name), {}).get(value, {}))
    return found


def words_of(family: str) -> Words:
    """How the things of a family are called; of one that is not installed, in general words."""
    found = family_called(family)
    return Words() if found is None else found.words


def amount(number: int | None, family: str) -> str:
    """``1,200 messages``, or the number alone where it is not known what is counted; ``family``: of the runbook."""
    unit = words_of(family).backlog
    if not unit:
        return "an unknown number" if number is None else f"{number:,}"
    return f"an unknown number of {unit}s" if number is None else counted(number, unit)

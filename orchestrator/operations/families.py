"""The family of a pair, and the family whose runbook a command uses: that of the adapters of its sites.

An adapter names its family. An adapter that only uses the terms of a family is not taken for an adapter of it. A pair
of an unknown family is refused or shown as unknown (docs/explanation/reliability.md, promise 18).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from orchestrator.documents.shipped import offers_repair, shipped_of
from orchestrator.errors import DefinitionError
from orchestrator.family.contract import family_named
from orchestrator.family.offers import Offering, offering
from orchestrator.model.families import family_called, known_families
from orchestrator.model.inventory import Inventory, Site
from orchestrator.operations.runtime import Tools


def family_of(tools: Tools, site: Site) -> str:
    """The name of the installed family of ``site``, or empty if it is not installed. Raises ``DefinitionError`` for an
    adapter that cannot be used."""
    named = family_named(tools.registry.declarations(site))
    return named if family_called(named) is not None else ""


def unknown_family(site: Site) -> str:
    """The reason why the family of a site is unknown, in a sentence."""
    adapters = ", ".join(part.adapter for part in site.parts)
    return f"this program does not know what kind of service {site.name} is (adapter: {adapters})"


def known_family(tools: Tools, site: Site) -> str:
    """The family of ``site``. Raises ``DefinitionError`` for a family that this program does not know."""
    family = family_of(tools, site)
    if not family:
        raise DefinitionError(
            unknown_family(site),
            hint=f"installed families: {', '.join(known_families())}; for another family, give a runbook: "
            "`failover controlled --runbook FILE`",
        )
    return family


def family_meant(
    tools: Tools, inventory: Inventory, services: Sequence[str], pair: str | None, *, is_known: bool = True
) -> str:
    """The family of the chosen pair; empty if the pair is not clear, which planning then reports.

    ``is_known``: the family must be known to this program. Raises ``DefinitionError`` if it must, and is not.
    """
    fitting = [
        one
        for one in inventory.pairs
        if pair in (None, one.name) and (not services or any(service in one.services for service in services))
    ]
    if len(fitting) != 1:
        return ""
    site = inventory.sites[fitting[0].sites[0]]
    return known_family(tools, site) if is_known else family_of(tools, site)


def shipped_by(family: str, kind: str) -> str:
    """The name of a family's runbook. Raises ``DefinitionError`` if the family ships none of this kind."""
    own = shipped_of(family)
    if f"{family}/{kind}" not in own:
        raise DefinitionError(
            f"the family {family} ships no runbook {kind!r}", hint=f"the family ships: {', '.join(own) or 'none'}"
        )
    return f"{family}/{kind}"


def not_offered(family: str, what: str, offers: Callable[[Offering], bool]) -> DefinitionError:
    """The error for a ``family`` that does not offer ``what``, such as ``guard``. The hint names the families that do,
    by ``offers``."""
    others = ", ".join(name for name in known_families() if offers(offering(name)))
    return DefinitionError(
        f"the family {family} does not offer {what}", hint=f"families that offer this: {others or 'none'}"
    )


def see_roles(family: str) -> None:
    """Raise ``DefinitionError`` if a family ships no repair of two standby, or two active, sites."""
    if not offers_repair(family):
        instead = offering(family).instead("repair")
        raise DefinitionError(
            f"the family {family} does not offer repair", hint=instead or "see `failover runbook list`"
        )

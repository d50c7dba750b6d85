"""Fetches the configurations of running AMPS instances, and validates them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from adapters.amps.config.model import Instance
from adapters.amps.config.settings import Assumptions, ValidateOptions
from adapters.amps.live import configurations_of
from orchestrator.errors import DefinitionError
from orchestrator.family.readiness import Validated
from orchestrator.model.inventory import Inventory, Pair, Site
from orchestrator.operations.families import family_of
from orchestrator.operations.runtime import Tools
from validator.report import Level, ValidationFinding
from validator.validate import validate

# By site and service: the instance, or the reason why it could not be fetched.
Fetched = Mapping[tuple[str, str], Instance | str]


def fetch(
    tools: Tools,
    inventory: Inventory,
    pairs: Iterable[Pair],
    variables: Mapping[str, str] | None = None,
    assumptions: Assumptions | None = None,
) -> Fetched:
    """The instances of all services of ``pairs``, by site and service; a sentence for one that could not be fetched."""
    wanted = [(inventory.sites[name], tuple(pair.services)) for pair in pairs for name in pair.sites]
    context = tools.to_read

    def configured(one: tuple[Site, tuple[str, ...]]) -> Fetched:
        return configurations_of(tools.registry, context, *one, variables, assumptions)

    with ThreadPoolExecutor(8) as pool:
        found = pool.map(configured, wanted)
        return {key: value for one in found for key, value in one.items()}


def instances_of(
    tools: Tools, inventory: Inventory, variables: Mapping[str, str], assumptions: Assumptions
) -> tuple[Instance, ...]:
    """Every AMPS instance of the inventory, each once. Raises ``DefinitionError`` if there is none, or one is missing:
    an incomplete fabric must not be validated as if it were complete."""
    pairs = [pair for pair in inventory.pairs if family_of(tools, inventory.sites[pair.sites[0]]) == "amps"]
    if not pairs:
        raise DefinitionError("the inventory has no AMPS instance to fetch a configuration from")
    found = fetch(tools, inventory, pairs, variables, assumptions)
    missing = [f"{site}, {service}: {one}" for (site, service), one in found.items() if isinstance(one, str)]
    if missing:
        raise DefinitionError(
            f"the configurations of {len(missing)} of {len(found)} instances were not fetched: {'; '.join(missing[:3])}",
            hint="fix the cause, or validate files instead; an instance that does not answer is never left out silently",
        )
    # Services that share an instance share the object.
    return tuple({id(one): one for one in found.values() if isinstance(one, Instance)}.values())


def validated_pair(tools: Tools, inventory: Inventory, pair: Pair) -> dict[str, Validated]:
    """For each service, the findings on its two instances from the validation of the pair's live configurations."""
    found = fetch(tools, inventory, [pair])
    instances = {id(one): one for one in found.values() if isinstance(one, Instance)}
    report = validate(instances.values(), ValidateOptions()) if instances else None
    judged: dict[str, Validated] = {}
    for service in pair.services:
        ends = [found[(site, service)] for site in pair.sites]
        missing = [f"{site}: {one}" for site, one in zip(pair.sites, ends, strict=True) if isinstance(one, str)]
        if missing or report is None:
            judged[service] = Validated(why="; ".join(missing))
            continue
        names = {one.name for one in ends if isinstance(one, Instance)}
        judged[service] = _validated([one for one in report.findings if {one.source, one.destination} & names])
    return judged


def _validated(findings: Iterable[ValidationFinding]) -> Validated:
    texts: dict[Level, list[str]] = {level: [] for level in Level}
    for one in findings:
        texts[one.level].append(f"{one.check}: {one.message}")
    return Validated(errors=texts[Level.ERROR], risks=texts[Level.RISK], undecided=texts[Level.UNDECIDED])

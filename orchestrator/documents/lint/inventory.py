"""Lint of an inventory that is formally correct.

It finds visible secrets, devices without a pinned key or certificate, ambiguous names, and a fence plan that is missing
or cannot be executed. It must never connect to a device, resolve a secret, or show one.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from urllib.parse import parse_qsl, urlsplit

from orchestrator.documents.source_map import Diagnostic, Lines, Path, findings_of, quoted, show
from orchestrator.errors import DefinitionError
from orchestrator.family.contract import Adapter, family_named
from orchestrator.model.fences import FenceKind, known_fences
from orchestrator.model.findings import Finding, Level
from orchestrator.model.inventory import Also, FenceOption, Inventory, Site
from orchestrator.suggestions import suggest

_SECRET_KEY = re.compile(r"(?:^|_|-)(?:password|passphrase|secret|token)$", re.IGNORECASE)
# Options of adapters that speak HTTP, where certificates are checked and host keys mean nothing.
_OF_HTTP = frozenset({"ca_file", "scheme", "token", "insecure_http"})
_SECRET_HINT = "use {env: NAME}, {file: PATH} or {prompt: true}"
_COMMAND = FenceKind("run a command of the operator", "set_external_fence", "external_fence")
_HOST_KEY_HINT = "copy <type> <base64> from the device, for example from ssh-keyscan, and compare its fingerprint"


def lint_inventory(inventory: Inventory, *, file: str | None = None, lines: Lines | None = None) -> list[Finding]:
    """Errors, warnings and notes, in the order of the inventory. An inventory with errors must not be used."""
    return findings_of([*_sites(inventory), *_pairs(inventory), *_hooks(inventory)], file=file, lines=lines)


def lint_adapters(
    inventory: Inventory,
    declared_for: Callable[[Site], type[Adapter]],
    shared: Callable[[Site, Sequence[str]], str],
    *,
    file: str | None = None,
    lines: Lines | None = None,
) -> list[Finding]:
    """Checks that the adapters of each site exist, that they can execute its fence plan, and that its services can be
    moved separately. ``declared_for`` and ``shared`` are the methods of ``Registry``."""
    told = [one for site in inventory.sites.values() for one in _declared(site, declared_for)]
    return findings_of([*told, *_shared(inventory, shared)], file=file, lines=lines)


def _shared(inventory: Inventory, shared: Callable[[Site, Sequence[str]], str]) -> Iterator[Diagnostic]:
    for index, pair in enumerate(inventory.pairs):
        for name in pair.sites:
            try:
                found = shared(inventory.sites[name], pair.services)
            except DefinitionError:
                continue  # the check of the adapter itself reports this
            if found:
                hint = "list them as one service, or give each a separate instance"
                yield Diagnostic(("pairs", index, "services"), Level.ERROR, "shared-instance", found, hint)


def _declared(site: Site, declared_for: Callable[[Site], type[Adapter]]) -> Iterator[Diagnostic]:
    path: Path = ("sites", site.name)
    try:
        declared = declared_for(site)
    except DefinitionError as error:
        yield Diagnostic(
            (*path, "adapter"), Level.ERROR, "adapter-unusable", f"site {site.name}: {error}", error.hint
        )
        return
    if not family_named(declared):
        sentence = (
            f"no adapter of site {site.name} names its family, so only a runbook that you write can move its services"
        )
        hint = (
            "status and check show the site as unknown, and other commands refuse it; see `family` in CONTRIBUTING.md"
        )
        yield Diagnostic((*path, "adapter"), Level.WARNING, "family-unknown", sentence, hint)
    fences = known_fences(family_named(declared))
    for index, option in enumerate(site.fence):
        needs = _COMMAND if option.command is not None else fences.get(option.kind)
        if needs is None:
            continue
        place = (*path, "fence", index, option.kind)
        if needs.action not in declared.actions:
            sentence = f"no adapter of site {site.name} can {needs.does}, but its fence plan needs this"
            yield Diagnostic(
                place, Level.ERROR, "fence-impossible", sentence, f"add an adapter that has {needs.action} to `also`"
            )
        elif needs.reading not in declared.readings:
            sentence = (
                f"no adapter of site {site.name} reads whether its fence is closed, so no reading can prove the fence"
            )
            hint = f"add an adapter that has the reading {needs.reading} to `also`"
            yield Diagnostic(place, Level.WARNING, "fence-unproven", sentence, hint)


def _sites(inventory: Inventory) -> Iterator[Diagnostic]:
    used = {name for pair in inventory.pairs for name in pair.sites}
    for name, site in inventory.sites.items():
        path: Path = ("sites", name)
        if name not in used:
            yield Diagnostic(path, Level.NOTE, "unused-site", f"site {name} does not belong to a pair")
        yield from _session(site, path)
        for index, also in enumerate(site.also):
            pinned_by = also.known_hosts or site.known_hosts
            yield from _session(also.model_copy(update={"known_hosts": pinned_by}), (*path, "also", index))
        if name in used:
            yield from _fence(site, path)


def _session(part: Site | Also, path: Path) -> Iterator[Diagnostic]:
    """Findings of the login, options and devices of one adapter of a site."""
    if part.login is not None and part.login.password is not None and part.login.password.inline is not None:
        place = (*path, "login", "password", "inline")
        sentence = f"the file contains the secret {show(place[:-1])} as plain text"
        yield Diagnostic(place, Level.WARNING, "inline-secret", sentence, _SECRET_HINT)
    yield from _options(part.options, (*path, "options"))
    yield from _devices(part, path)


def _own_fence(option: FenceOption, path: Path) -> Iterator[Diagnostic]:
    """A fence kind that a family brings: a kind of this name must exist, and the value must fit it."""
    kind, place, value = known_fences().get(option.kind), (*path, option.kind), option.value
    if kind is None:
        hint = suggest(option.kind, (*known_fences(), *FenceOption.model_fields))
        yield Diagnostic(place, Level.ERROR, "fence-unknown", f"unknown key {option.kind} in {show(path)}", hint)
    elif kind.pattern and not (isinstance(value, str) and re.fullmatch(kind.pattern, value)):
        yield Diagnostic(
            place, Level.ERROR, "fence-value", f"{show(place)} {quoted(value)} is not allowed", kind.says
        )
    elif not kind.pattern and value is not True:
        sentence = f"{show(place)} is {quoted(value)}, which is not allowed"
        yield Diagnostic(place, Level.ERROR, "fence-value", sentence, "allowed: true")


def _fence(site: Site, path: Path) -> Iterator[Diagnostic]:
    """docs/sources/solace-procedure.md, uncontrolled 2: the way to keep clients off a failed site is formalised before
    an outage."""
    if not site.fence and not site.simulated:
        sentence = f"site {site.name} has no fence plan"
        ways = ", ".join((*known_fences(), *FenceOption.model_fields))
        hint = f"write under `fence` how to keep clients away from the site after it failed: {ways}"
        yield Diagnostic(path, Level.NOTE, "no-fence-plan", sentence, hint)
    for index, option in enumerate(site.fence):
        if option.is_of_family:
            yield from _own_fence(option, (*path, "fence", index))
        if option.command is None:
            continue
        place = (*path, "fence", index, "command")
        commands = _commands(site)
        command = commands.get(option.command)
        if command is None:
            sentence = f"the fence plan of site {site.name} runs {option.command}, but no adapter of the site has it"
            hint = suggest(option.command, commands) or "add the adapter local to `also`, with this command"
            yield Diagnostic(place, Level.ERROR, "fence-command-unknown", sentence, hint)
        elif not (isinstance(command, Mapping) and command.get("check")):
            sentence = (
                f"the command {option.command} has no check, so it cannot prove that site {site.name} is fenced"
            )
            yield Diagnostic(
                place, Level.ERROR, "fence-command-unproven", sentence, "give the command a `check`, or use `attest`"
            )


def _commands(site: Site) -> dict[str, object]:
    """The operator's own commands, by name, from the options of the site's adapters."""
    found: dict[str, object] = {}
    for part in site.parts:
        commands = part.options.get("commands")
        found |= commands if isinstance(commands, Mapping) else {}
    return found


def _options(value: object, path: Path) -> Iterator[Diagnostic]:
    """Each adapter defines its options. A key that is named like a secret and has a text value counts as a secret in all
    of them."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            here = (*path, str(key))
            if isinstance(inner, str) and (_SECRET_KEY.search(str(key)) or key == "inline"):
                sentence = f"the file contains the secret {show(here)} as plain text"
                yield Diagnostic(here, Level.WARNING, "inline-secret", sentence, _SECRET_HINT)
            yield from _options(inner, here)
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from _options(inner, (*path, index))


def _devices(site: Site | Also, path: Path) -> Iterator[Diagnostic]:
    for index, device in enumerate(site.devices or ()):
        place = (*path, "devices", index)
        if device.host_key is None:
            if device.address and site.known_hosts is None and not _OF_HTTP & site.options.keys():
                sentence = (
                    f"device {device.name} has no host_key, so known_hosts of the account decides whether to trust it"
                )
                yield Diagnostic(place, Level.NOTE, "no-host-key", sentence, _HOST_KEY_HINT)
        elif not _is_host_key(device.host_key):
            sentence = f"the host_key of device {device.name} does not have the form <type> <base64>"
            yield Diagnostic((*place, "host_key"), Level.ERROR, "bad-host-key", sentence, _HOST_KEY_HINT)


def _is_host_key(text: str) -> bool:
    """``<type> <base64>``, where the encoded key starts with its own type (RFC 4253, section 6.6)."""
    kind, _, encoded = text.partition(" ")
    try:
        blob = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return False
    name = kind.encode()
    return bool(kind) and blob.startswith(len(name).to_bytes(4, "big") + name) and len(blob) > len(name) + 8


def _pairs(inventory: Inventory) -> Iterator[Diagnostic]:
    seen: set[str] = set()
    for index, pair in enumerate(inventory.pairs):
        if pair.name in seen:
            sentence = f"two pairs are called {pair.name}"
            yield Diagnostic(("pairs", index, "name"), Level.ERROR, "duplicate-pair", sentence)
        seen.add(pair.name)
        adapters = {inventory.sites[name].adapter for name in pair.sites}
        if len(adapters) > 1:
            sentence = f"the sites of pair {pair.name} use different adapters: {', '.join(sorted(adapters))}"
            yield Diagnostic(("pairs", index, "sites"), Level.NOTE, "mixed-adapters", sentence)
        for position, service in enumerate(pair.services):
            if not service.isprintable() or service != service.strip():
                sentence = f"the name {service!a} has an invisible character, or a blank at its start or end"
                hint = "the program never sends such a name; type the name instead of pasting it"
                yield Diagnostic(
                    ("pairs", index, "services", position), Level.ERROR, "service-unseen", sentence, hint
                )
        handed = sorted({name for site in pair.sites for name in _handed_a_service(inventory.sites[site])})
        for position, service in enumerate(pair.services):
            if handed and service.startswith("-"):
                sentence = (
                    f"the command {handed[0]} gets {service} as an argument, but would read this name as an option"
                )
                place: Path = ("pairs", index, "services", position)
                yield Diagnostic(
                    place, Level.ERROR, "service-is-option", sentence, "pass FAILOVER_SERVICE instead of {service}"
                )


def _handed_a_service(site: Site) -> Iterator[str]:
    """The names of the operator's own commands that receive a service's name as a word."""
    for name, command in _commands(site).items():
        words = [command.get(key) for key in ("argv", "check")] if isinstance(command, Mapping) else []
        if any(isinstance(listed, list | tuple) and "{service}" in listed for listed in words):
            yield name


def _hooks(inventory: Inventory) -> Iterator[Diagnostic]:
    """A URL is recorded with each run, so it must not contain the credential with which the receiver identifies its
    callers."""
    for index, hook in enumerate(inventory.hooks):
        if hook.webhook is not None and not _has_port(hook.webhook.url):
            place: Path = ("hooks", index, "webhook", "url")
            sentence = f"the port of hook {hook.name} is not valid"
            yield Diagnostic(place, Level.ERROR, "bad-port", sentence, "use a port from 1 to 65535")
            continue
        query = urlsplit(hook.webhook.url).query if hook.webhook else ""
        if any(_SECRET_KEY.search(key) for key, _ in parse_qsl(query)):
            sentence = f"the URL of hook {hook.name} contains a secret"
            place = ("hooks", index, "webhook", "url")
            yield Diagnostic(
                place, Level.WARNING, "inline-secret", sentence, "remove it; the receiver can check the signature"
            )


def _has_port(url: str) -> bool:
    """Is the port of the URL valid, or does the URL have no port?"""
    try:
        return urlsplit(url).port != 0
    except ValueError:
        return False
